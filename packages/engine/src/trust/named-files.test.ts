import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { digestNamedFiles } from './named-files.ts';

function createRoot(files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), 'caisson-named-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(root, name, '..'), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  return root;
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const names = async (root: string, path: string, value: unknown): Promise<string[]> =>
  (await digestNamedFiles(root, path.split('.'), value)).map((file) => file.path);

test('a file that a command names among other words counts with what it holds', async () => {
  const root = createRoot({ 'tools/setup.sh': 'echo', 'other.sh': '' });
  expect(await digestNamedFiles(root, ['workspace', 'setup'], 'sh ./tools/setup.sh --fast')).toEqual([
    { path: 'tools/setup.sh', sha256: sha256('echo') },
  ]);
});

test('a file of several megabytes counts whole', async () => {
  const text = 'x'.repeat(3 * 1024 * 1024);
  const root = createRoot({ big: text });
  expect(await digestNamedFiles(root, ['runtimes', 'a', 'bin'], './big')).toEqual([
    { path: 'big', sha256: sha256(text) },
  ]);
});

test('what lies outside, a folder and a pipe are not read', async () => {
  const root = createRoot({ 'a/b': '' });
  execFileSync('mkfifo', [join(root, 'pipe')]);
  expect(await names(root, 'workspace.setup', 'cat /etc/hostname ../x a pipe')).toEqual([]);
});

test('a folder counts file by file where the key is a folder of files', async () => {
  const root = createRoot({ 'caps/one/a.md': 'a', 'caps/one/sub/b.md': 'b' });
  expect(await names(root, 'capabilities.one', 'caps/one')).toEqual(['caps/one/a.md', 'caps/one/sub/b.md']);
  expect(await names(root, 'workspace.include', ['caps/one/a.md'])).toEqual([]);
});

test('a command that cannot be read completely is never the same twice', async () => {
  const root = createRoot({});
  const look = () => digestNamedFiles(root, ['runtimes', 'codex', 'apiKey'], 'exec:$(cat key)');
  const [first, second] = [await look(), await look()];
  expect(first).toHaveLength(1);
  expect(first[0]?.sha256).not.toBe(second[0]?.sha256);
});
