/** What a run leaves to look at and to take away, as a user asks for it. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openTerminal } from './on-terminal.ts';
import { createProject } from './project.ts';

const WORK =
  'mkdir -p outputs/deep; echo one >outputs/a.txt; echo two >outputs/deep/b.txt; printf "x\\ny\\n" >new.txt; echo z >>README.md';

describe('outputs', () => {
  it('are listed, and copied whole, and replace nothing', async () => {
    const project = createProject();
    const { runId } = await project.run('--', 'sh', '-c', WORK);
    const listed = await project.caisson('outputs');
    expect([listed.code, listed.stdout]).toEqual([0, expect.stringMatching(/outputs\/a\.txt +4 B\n/)]);
    const data = await project.caisson('outputs', runId.slice(-6), '-o', 'json');
    expect(JSON.parse(data.stdout)).toMatchObject({
      runId,
      outputs: [{ path: 'outputs/a.txt', size: 4 }, {}],
    });
    expect((await project.caisson('outputs', '--to', 'taken')).stdout).toContain('taken/deep/b.txt');
    expect(readFileSync(join(project.root, 'taken/deep/b.txt'), 'utf8')).toBe('two\n');
    const again = await project.caisson('outputs', '--to', 'taken');
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('nothing is replaced')]);
  });

  it('go through no link, and none is left where one cannot be written', async () => {
    const project = createProject();
    await project.run('--', 'sh', '-c', WORK);
    project.write('half/keep.txt', 'mine');
    symlinkSync('/tmp', join(project.root, 'half/deep'));
    const refused = await project.caisson('outputs', '--to', 'half');
    expect([refused.code, existsSync(join(project.root, 'half/a.txt'))]).toEqual([1, false]);
    symlinkSync('..', join(project.root, 'report'));
    for (const to of ['report', 'report/deeper'])
      expect(await project.caisson('outputs', '--to', to)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('is a link') as string,
      });
  });

  it.each([
    ['a repository of its own', '.git/HEAD .git/config'],
    ['a folder that git takes for one', 'HEAD config objects/x refs/x'],
    ['another place for the repository that is there', '.git/commondir'],
    ['settings of a shell and of git', 'deep/.envrc'],
  ])('bring no %s', async (_, names) => {
    const project = createProject();
    const write = 'for name in "$@"; do mkdir -p "outputs/$(dirname $name)"; echo x >"outputs/$name"; done';
    await project.run('--', 'sh', '-c', write, 'sh', ...names.split(' '));
    const refused = await project.caisson('outputs', '--to', 'taken');
    expect([refused.code, existsSync(join(project.root, 'taken'))]).toEqual([1, false]);
    expect(refused.stderr).toContain('nothing was copied');
  });
});

it('diff --stat counts the lines of each file, for people and for programs', async () => {
  const project = createProject();
  await project.run('--', 'sh', '-c', `${WORK}; printf '\\0' >binary`);
  const { stdout } = await project.caisson('diff', '--stat');
  expect(stdout).toMatch(/new\.txt +\+2 +-0 +added/);
  expect(stdout).toMatch(/binary +binary +added/);
  expect(stdout).toContain('3 files, 3 lines added, 0 removed');
  const { files } = JSON.parse((await project.caisson('diff', '--stat', '-o', 'json')).stdout) as {
    files: unknown[];
  };
  expect(files).toContainEqual({
    path: 'README.md',
    status: 'modified',
    linesAdded: 1,
    linesRemoved: 0,
    binary: false,
  });
});

describe('the list of runs', () => {
  it('fits a terminal of 80 columns, and its short ids name the runs', async () => {
    const project = createProject();
    const { runId } = await project.run('--', 'sh', '-c', `true ${'a very long command '.repeat(20)}`);
    const terminal = openTerminal(project, ['ps'], { before: 'stty cols 80; ' });
    await terminal.ended;
    const lines = terminal.screen().trimEnd().split(/\r?\n/);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
    expect(lines[1]).toMatch(new RegExp(`^${runId.slice(-8)} +done +command +\\d+ s ago`));
    expect((await project.caisson('show', runId.slice(-8), '-o', 'json')).stdout).toContain(runId);
    expect((await project.caisson('ls')).stdout).toContain(runId);
  });

  it('names the latest where a command reads, and never where one stops or deletes', async () => {
    const project = createProject();
    const { runId } = await project.run('--', 'sh', '-c', 'echo changed >README.md');
    for (const name of ['show', 'logs', 'diff', 'verify', 'outputs'])
      expect((await project.caisson(name)).code, name).toBe(0);
    expect((await project.caisson('show')).stdout).toContain(runId);
    for (const name of ['cancel', 'forget', 'approve']) expect((await project.caisson(name)).code).toBe(2);
  });
});

describe('the exit code', () => {
  it('of a plain command is its own, and the run is called failed', async () => {
    const project = createProject();
    const { code, stderr } = await project.caisson('run', '--', 'sh', '-c', 'exit 42');
    expect([code, stderr]).toEqual([42, expect.stringContaining('the command exited with code 42')]);
    expect(stderr).not.toContain('provider');
    expect((await project.caisson('runs', '--status', 'failed')).stdout).toContain('failed');
  });

  it('stands in the ending without what was already printed', async () => {
    const project = createProject();
    const { stderr } = await project.caisson('run', '--', 'sh', '-c', 'printf "oo%s\\n" ps >&2; exit 3');
    expect(stderr).toContain('the command exited with code 3\n');
    expect(stderr.match(/oops/g)).toHaveLength(1);
  });

  it('is 1 for work that a check refuses, unless that is only reported; the run is done in both cases', async () => {
    const project = createProject();
    const checked = await project.caisson('run', '--verify', 'false', '-o', 'json', '--', 'true');
    expect([checked.code, JSON.parse(checked.stdout)]).toMatchObject([1, { status: 'done' }]);
    const reported = ['run', '--verify', 'false', '--verify-report-only', '--', 'true'];
    const { code, stderr } = await project.caisson(...reported);
    expect([code, stderr]).toEqual([0, expect.stringContaining('verify: did not pass')]);
  });
});

it('a shell completes runs, agents, runtimes and models', async () => {
  const project = createProject();
  project.write('team/agents/reviewer.yaml', 'runtime: command\n');
  expect(await project.caisson('register', '--from', 'team')).toMatchObject({ code: 0 });
  const { runId } = await project.run('--', 'true');
  const words = async (kind: string) => (await project.caisson('completion', '--words', kind)).stdout;
  expect(await words('runs')).toBe(`${runId}\n`);
  expect(await words('agents')).toBe('reviewer\n');
  expect(await words('runtimes')).toContain('claude-code\n');
  expect(await words('models')).toMatch(/\S+\n/);
  const { stdout: script } = await project.caisson('completion', 'bash');
  project.write(
    'try.sh',
    `${script}\ncaisson() { echo ${runId}; }\nCOMP_WORDS=(caisson show '') COMP_CWORD=2\n_caisson; echo "\${COMPREPLY[@]}"\n`,
  );
  const offered = execFileSync('bash', [join(project.root, 'try.sh')], { encoding: 'utf8' });
  expect(offered).toContain(runId);
});

describe('words that are true', () => {
  it('a run says how long the work took and how long the user waited, and shows a short output whole', async () => {
    const project = createProject({ config: 'limits: { concurrency: 1 }\n', trusts: true });
    await project.caisson('run', '--detach', '--', 'sleep', '2'); // the other one waits for it
    const { stderr } = await project.caisson('run', '--', 'printf', '\n  all of it\n');
    expect(stderr).toMatch(/finished +run_\w+ +[\d.]+ m?s \([\d.]+ s in all\)/);
    expect(stderr).not.toContain('the end of');
  });

  it('a memory without a unit is refused with what to write', async () => {
    const { code, stderr } = await createProject().caisson('run', '--memory', '2000000', '--', 'true');
    expect([code, stderr]).toEqual([2, expect.stringMatching(/"2000000" is not a size.*512m or 4g/)]);
  });
});

it('du shows what the state folder takes, by its parts, as du does', async () => {
  const project = createProject();
  await project.run('--', 'sh', '-c', 'head -c 3000000 /dev/urandom >big');
  const { stdout } = await project.caisson('du');
  expect(stdout).toMatch(/MiB +store +patches/);
  const usage = JSON.parse((await project.caisson('du', '-o', 'json')).stdout) as { bytes: number };
  const du = Number(
    execFileSync('du', ['-s', '-B1', join(project.root, '.caisson')], { encoding: 'utf8' }).split('\t')[0],
  );
  expect(Math.abs(usage.bytes - du)).toBeLessThan(0.1 * du);
});
