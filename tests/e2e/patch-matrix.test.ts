/** Whatever an agent does to files comes back byte for byte, from whatever kind of repository. */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createProject, type Project } from './project.ts';

/** Every path with its kind, whether it can be executed, and its bytes. Names are kept as bytes too. */
function snapshot(root: string): Map<string, string> {
  const found = new Map<string, string>();
  const walk = (folder: Buffer, prefix: Buffer): void => {
    for (const name of readdirSync(folder, { encoding: 'buffer' })) {
      const text = name.toString('latin1');
      if (prefix.length === 0 && (text === '.git' || text === '.caisson')) continue;
      const path = Buffer.concat([folder, Buffer.from('/'), name]);
      const key = Buffer.concat([prefix, Buffer.from('/'), name]);
      const stats = lstatSync(path);
      if (stats.isDirectory()) walk(path, key);
      else if (stats.isSymbolicLink()) found.set(key.toString('latin1'), `-> ${readlinkSync(path)}`);
      else
        found.set(
          key.toString('latin1'),
          `${(stats.mode & 0o100) === 0 ? '-' : 'x'} ${readFileSync(path).toString('base64')}`,
        );
    }
  };
  walk(Buffer.from(root), Buffer.alloc(0));
  return found;
}

/** Runs the program for real in a copy, and through caisson in the project; after `apply` both must be the same. */
async function expectSame(project: Project, program: string): Promise<string> {
  const copy = join(project.root, '../copy');
  cpSync(project.root, copy, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (path) => !path.includes('.caisson'),
  });
  execFileSync('sh', ['-ec', program], { cwd: copy, env: project.env });
  const before = snapshot(project.root);
  const result = await project.run('--', 'sh', '-ec', program);
  expect(result.status, `${result.failure?.detail} ${result.stderr}`).toBe('done');
  expect(snapshot(project.root)).toEqual(before); // nothing of the user's changes before apply
  const applied = await project.caisson('apply', result.runId);
  expect(applied.code, applied.stderr).toBe(0);
  expect(snapshot(project.root)).toEqual(snapshot(copy));
  return result.runId;
}

describe('a patch', () => {
  it('brings back binary, Latin-1, links, modes, deletions, renames, empty files and odd names', async () => {
    const project = createProject();
    project.write('binary.bin', Buffer.from(Array.from({ length: 4096 }, (_, at) => (at * 7) % 256)));
    project.write('latin1.txt', Buffer.from('caf\u00e9 cr\u00e8me\n', 'latin1'));
    project.write('crlf.txt', 'one\r\ntwo\r\n');
    project.write('tool.sh', '#!/bin/sh\necho hi\n');
    project.write('gone.txt', 'goodbye\n');
    project.write('old/name.txt', 'the same words\n'.repeat(20));
    project.write('folder/file.txt', 'in a folder\n');
    project.write('no-newline.txt', 'no end');
    project.git('add', '.');
    project.git('commit', '-qm', 'files');
    await expectSame(
      project,
      String.raw`
        printf '\000\377\001\376' >> binary.bin; head -c 70000 /dev/zero | tr '\000' '\253' > new.bin
        printf 'd\351j\340 vu\n' >> latin1.txt; printf 'x\n' > "$(printf 'nom-\351.txt')"
        printf 'three\r\n' >> crlf.txt; printf ' here' >> no-newline.txt
        ln -s latin1.txt link; ln -s nowhere/at/all broken; chmod +x tool.sh
        rm gone.txt; mv old/name.txt renamed.txt
        rm -r folder; printf 'now a file\n' > folder
        : > empty; mkdir deep; mkdir deep/er; printf 'a\n' > 'deep/er/with space "quotes" and	tab'
        printf 'b\n' > -dash; printf 'c\n' > "$(printf 'new\nline')"; printf '\342\202\254\n' > "$(printf '\342\202\254.txt')"
      `,
    );
  });

  it('brings back 2,000 files at once', async () => {
    const project = createProject();
    await expectSame(project, 'mkdir many; for i in $(seq 2000); do echo "file $i" > many/$i.txt; done');
  }, 60_000);

  it('brings back changes inside a submodule', async () => {
    const library = createProject();
    const project = createProject();
    project.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', library.root, 'lib');
    project.git('commit', '-qm', 'submodule');
    await expectSame(
      project,
      'echo changed >> lib/README.md; echo new > lib/new.txt; echo beside > beside.txt',
    );
  });

  it('stands on the uncommitted and untracked files of the user', async () => {
    const project = createProject();
    project.write('README.md', '# changed, not committed\n');
    project.write('untracked.txt', 'mine\n');
    const result = await project.run(
      '--',
      'sh',
      '-ec',
      'cat README.md untracked.txt; echo more >> untracked.txt',
    );
    expect(result.stdout).toBe('# changed, not committed\nmine\n');
    expect(project.git('status', '--porcelain')).toBe(' M README.md\n?? untracked.txt\n');
    const forced = await project.caisson('apply', result.runId, '--force');
    expect(forced.code, forced.stderr).toBe(0);
    expect(readFileSync(join(project.root, 'untracked.txt'), 'utf8')).toBe('mine\nmore\n');
  });

  it('works in a repository without a commit', async () => {
    const project = createProject({ git: false });
    project.git('init', '-q', '-b', 'main');
    project.write('first.txt', 'one\n');
    const result = await project.run('--', 'sh', '-ec', 'echo two >> first.txt; echo new > second.txt');
    expect(result.status, result.failure?.detail).toBe('done');
    const applied = await project.caisson('apply', result.runId, '--force');
    expect(applied.code, applied.stderr).toBe(0);
    expect(readFileSync(join(project.root, 'first.txt'), 'utf8')).toBe('one\ntwo\n');
    expect(readFileSync(join(project.root, 'second.txt'), 'utf8')).toBe('new\n');
  });

  it('leaves a rebase that is under way exactly as it stands', async () => {
    const project = createProject();
    project.git('checkout', '-qb', 'side');
    project.write('README.md', 'side\n');
    project.git('commit', '-qam', 'side');
    project.git('checkout', '-q', 'main');
    project.write('README.md', 'main\n');
    project.git('commit', '-qam', 'main');
    expect(() => project.git('rebase', 'side')).toThrow('Command failed');
    const before = [project.git('status'), readFileSync(join(project.root, '.git/index')).toString('base64')];
    const result = await project.run('--', 'sh', '-ec', 'echo resolved > README.md; echo x > other.txt');
    expect(result.status, result.failure?.detail).toBe('done');
    expect([
      project.git('status'),
      readFileSync(join(project.root, '.git/index')).toString('base64'),
    ]).toEqual(before);
    expect((await project.caisson('diff', result.runId)).stdout).toContain('+resolved');
  });

  it('shows what a run in a folder without git did', async () => {
    const project = createProject({ git: false });
    project.write('kept.txt', 'one\n');
    const result = await project.run('--', 'sh', '-ec', 'echo two >> kept.txt; echo new > new.txt');
    expect(result.status).toBe('done');
    const { stdout } = await project.caisson('diff', result.runId);
    expect(stdout).toContain('+two');
    expect(stdout).toContain('new.txt');
    expect(readFileSync(join(project.root, 'kept.txt'), 'utf8')).toBe('one\ntwo\n');
  });
});

describe('a hostile repository', () => {
  it('runs none of its hooks, filters, monitors, converters or drivers', async () => {
    const project = createProject();
    const trap = join(project.root, '../trap');
    const script = join(project.root, '.git/trap.sh');
    project.write('data.txt', 'one\n');
    project.write('.gitattributes', '*.txt filter=evil diff=evil merge=evil\n');
    project.git('add', '.');
    project.git('commit', '-qm', 'attributes');
    project.write('.git/trap.sh', `#!/bin/sh\necho "$0 $*" >> ${trap}\ncat\n`);
    execFileSync('chmod', ['+x', script]);
    const settings: Record<string, string> = {
      'core.fsmonitor': script,
      'core.hooksPath': join(project.root, '.git/hooks'),
      'core.sshCommand': script,
      'core.pager': script,
      'core.editor': script,
      'core.askPass': script,
      'credential.helper': `!${script}`,
      'filter.evil.clean': script,
      'filter.evil.smudge': script,
      'filter.evil.process': script,
      'filter.evil.required': 'true',
      'diff.evil.textconv': script,
      'diff.evil.command': script,
      'diff.external': script,
      'merge.evil.driver': `${script} %A`,
      'gpg.program': script,
      'commit.gpgSign': 'true',
      'uploadpack.packObjectsHook': script,
      'alias.status': `!${script}`,
    };
    for (const [name, value] of Object.entries(settings)) project.git('config', name, value);
    mkdirSync(join(project.root, '.git/hooks'), { recursive: true });
    for (const hook of [
      'pre-commit',
      'post-commit',
      'post-checkout',
      'post-index-change',
      'reference-transaction',
      'post-applypatch',
    ]) {
      project.write(`.git/hooks/${hook}`, `#!/bin/sh\necho "hook ${hook}" >> ${trap}\n`);
      execFileSync('chmod', ['+x', join(project.root, '.git/hooks', hook)]);
    }
    const result = await project.run('--', 'sh', '-ec', 'echo two >> data.txt; echo x > new.txt');
    expect(result.status, result.failure?.detail).toBe('done');
    expect((await project.caisson('diff', result.runId)).stdout).toContain('+two');
    const applied = await project.caisson('apply', result.runId);
    expect(applied.code, applied.stderr).toBe(0);
    expect((await project.caisson('gc')).code).toBe(0);
    expect(existsSync(trap), existsSync(trap) ? readFileSync(trap, 'utf8') : '').toBe(false);
    expect(readFileSync(join(project.root, 'data.txt'), 'utf8')).toBe('one\ntwo\n');
    // The traps are real: a plain git steps into them.
    spawnSync('git', ['diff'], { cwd: project.root, env: project.env, stdio: 'ignore' });
    expect(existsSync(trap)).toBe(true);
  });
});
