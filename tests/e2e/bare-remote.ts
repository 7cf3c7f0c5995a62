/** A bare repository that a run works on, as a person would have one on a server or on a disk. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';

export interface BareRemote {
  /** Its folder; the one around it goes with the test. */
  readonly path: string;
  git(...args: string[]): string;
  /** The commit of a branch; null if it has none of that name. */
  find(branch: string): string | null;
  /** Commits files on `main`, by their names and contents. */
  commit(files: Readonly<Record<string, string>>): string;
  /** Git in a checkout of it. */
  clone(...args: string[]): string;
  /** A program that the repository runs when it is pushed to. */
  hook(name: string, script: string): void;
}

export function createBareRemote(files: Readonly<Record<string, string>> = { 'a.txt': 'one\n' }): BareRemote {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'caisson-remote-')));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const path = join(base, 'bare.git');
  const clone = join(base, 'clone');
  const run = (cwd: string, ...args: string[]): string =>
    execFileSync('git', ['-c', 'user.name=T', '-c', 'user.email=t@example.invalid', ...args], {
      cwd,
      env: { ...ENVIRONMENT, HOME: base },
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
    }).trim();
  run(base, 'init', '-q', '--bare', '-b', 'main', path);
  run(base, 'clone', '-q', path, clone);
  const remote: BareRemote = {
    path,
    git: (...args) => run(path, ...args),
    find(branch) {
      return run(path, 'for-each-ref', '--format=%(objectname)', `refs/heads/${branch}`) || null;
    },
    commit(given) {
      for (const [name, content] of Object.entries(given)) {
        mkdirSync(dirname(join(clone, name)), { recursive: true });
        writeFileSync(join(clone, name), content);
      }
      run(clone, 'add', '-A');
      run(clone, 'commit', '-qm', 'files');
      run(clone, 'push', '-q', 'origin', 'HEAD:main');
      return run(clone, 'rev-parse', 'HEAD');
    },
    clone: (...args) => run(clone, ...args),
    hook(name, script) {
      const file = join(path, 'hooks', name);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, `#!/bin/sh\n${script}\n`);
      chmodSync(file, 0o755);
    },
  };
  remote.commit(files);
  return remote;
}

const ENVIRONMENT = {
  PATH: '/usr/local/bin:/usr/bin:/bin',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
};
