import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

const SCRIPT = resolve(import.meta.dirname, '../../scripts/check-words.ts');

test.each([
  ['Whoever opens it next seals it.', 1],
  ['The next process that opens it seals it.', 0],
])('the check of words ends %j with %i', (text, status) => {
  const root = mkdtempSync(join(tmpdir(), 'caisson-words-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  mkdirSync(join(root, 'docs'));
  writeFileSync(join(root, 'docs/guide.md'), `${text}\n`);
  execFileSync('git', ['init', '--quiet'], { cwd: root });
  execFileSync('git', ['add', '.'], { cwd: root });
  expect(spawnSync(process.execPath, [SCRIPT], { cwd: root }).status).toBe(status);
});
