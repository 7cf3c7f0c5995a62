/** What the tests of usual projects do with the machine, and find in a run. */
import { expect, it } from 'vitest';
import { createProject } from './project.ts';

const GIT_SETTINGS =
  '[user]\n\tname = Ada "B"\n\temail = ada@example.invalid\n[init]\n\tdefaultBranch = trunk\n';

it(
  'tests that make a repository commit as the user, and may say otherwise',
  { timeout: 60_000 },
  async () => {
    const project = createProject();
    project.write('../home/.gitconfig', `${GIT_SETTINGS}[credential]\n\thelper = key-of-the-user\n`);
    const script = [
      'set -e; cd "$(mktemp -d)"; git init -q; git commit -q --allow-empty -m one; git log --format="%an %ae %D"',
      'git config --global user.name Global; git commit -q --allow-empty -m two; git log -1 --format=%an',
      'git config user.name Local; git commit -q --allow-empty -m three; git log -1 --format=%an; git config --list',
    ].join('; ');
    const { code, stdout, stderr } = await project.caisson('run', '--', 'sh', '-c', script);
    expect(code, stdout + stderr).toBe(0);
    expect(stdout).toMatch(/^Ada B ada@example.invalid HEAD -> trunk\nGlobal\nLocal\n/);
    expect(stdout).not.toContain('key-of-the-user');
  },
);

it(
  'a file that is too large for the snapshot is named with the option that shows it',
  { timeout: 60_000 },
  async () => {
    const project = createProject({ config: 'limits: { captureFile: 4k }\n' });
    project.write('grown.csv', 'as committed\n');
    project.git('add', '.');
    project.git('commit', '-qm', 'data');
    project.write('data/large one.csv', 'x'.repeat(5000));
    project.write('grown.csv', 'y'.repeat(5000));
    const script = 'wc -c < "data/large one.csv"; head -c 20 grown.csv; echo changed >> "data/large one.csv"';
    const without = await project.caisson('run', '--', 'sh', '-c', `! ls data; ${script}; true`);
    expect(without.stderr).toContain("the run does not see it; name it: --bring 'data/large one.csv'");
    expect(without.stderr).toMatch(/grown\.csv .*: the run sees what git has of it; with a higher limit/);
    const named = await project.run('--bring', 'data/large one.csv', '--', 'sh', '-c', script);
    expect(named.stdout).toBe('5000\nas committed\n');
    expect(named.cli.stderr).not.toContain('large one');
    expect((await project.caisson('diff', named.runId)).stdout).toBe('');
  },
);
