import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Job } from '@caisson/protocol';
import { expect, onTestFinished, test } from 'vitest';
import { findRuledPaths } from './ruled-paths.ts';

/** `~/.config/mise` is a link to a link, `~/.tool-versions` a link to a file. */
function unbroughtWith(rule: string): string[] {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'ruled-')));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  for (const folder of ['.config', 'dot/mise', 'project']) mkdirSync(join(home, folder), { recursive: true });
  for (const file of ['dot/mise/config.toml', 'dot/versions']) writeFileSync(join(home, file), '');
  symlinkSync('dot/mise', join(home, 'middle'));
  symlinkSync(join(home, 'middle'), join(home, '.config/mise'));
  symlinkSync('dot/versions', join(home, '.tool-versions'));
  const project = join(home, 'project');
  const job = {
    workspace: { path: project, cwd: project, mountPath: project },
    sandbox: {
      home,
      files: ['.config/mise/config.toml', '.tool-versions'].map((path) => ({
        path: join(home, path),
        content: 'x',
      })),
    },
    rules: [{ path: rule, action: 'no-access', reason: 'mine' }],
  } as unknown as Job;
  return findRuledPaths(job).unbrought.map((path) => path.slice(home.length + 1));
}

const MISE = '.config/mise/config.toml';

test.each([
  ['~/.config/mise/**', [MISE]],
  ['~/.config/mise/config.toml', [MISE]],
  ['~/.tool-versions', ['.tool-versions']],
  ['~/middle/**', [MISE]],
  ['~/dot/mise/config.toml', [MISE]],
  ['~/dot/**', [MISE, '.tool-versions']],
  ['/**', [MISE, '.tool-versions']],
  ['~/.config/mise/other.toml', []],
  ['~/other/**', []],
])('the no-access rule %s counts for settings of version managers that are links', (rule, expected) => {
  expect(unbroughtWith(rule)).toEqual(expected);
});
