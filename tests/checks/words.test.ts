import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

const SCRIPT = resolve(import.meta.dirname, '../../scripts/check-words.ts');

test.each([
  ['Whoever opens it next seals it.', 1],
  ['It answers by the same law as everywhere.', 1],
  ['The recorder hears what it records, and tells it.', 1],
  ['The request desk answers.', 1],
  ['function tell(text) {}', 1],
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

test('each word of the glossary stands in the code', () => {
  const root = resolve(import.meta.dirname, '../..');
  const rows = readFileSync(join(root, 'docs/glossary.md'), 'utf8').matchAll(/^\| ([a-z][^|(]*)/gm);
  const words = [...rows].slice(1).flatMap(([, word = '']) => word.trim().split(', '));
  const argv = ['grep', '-ohiE', `(${words.join('|').replaceAll(' ', '[- ]?')})`, '--', 'packages'];
  const found = execFileSync('git', argv, { cwd: root, encoding: 'utf8', maxBuffer: 256 * 1024 * 1024 });
  const inCode = new Set(found.toLowerCase().replaceAll('-', ' ').split('\n'));
  const isInCode = (word: string): boolean =>
    [word, word.replaceAll(' ', '')].some((form) => inCode.has(form.replaceAll('-', ' ')));
  expect(words.filter((word) => !isInCode(word))).toEqual([]);
});
