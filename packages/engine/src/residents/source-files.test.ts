import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readSources } from './source-files.ts';

function openProject(): string {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'sources-')));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  mkdirSync(join(root, 'project'));
  return join(root, 'project');
}

const contents = async (root: string): Promise<(string | null)[]> =>
  (await readSources(root, join(root, 'a.ts'))).map(({ content }) => content?.toString() ?? null);

test('only regular files inside the project are read, also through a link that stays inside', async () => {
  const root = openProject();
  const text = ['zero', 'out', 'pipe', 'folder/x', 'in'].map((name) => `// from './${name}.ts'`).join('\n');
  writeFileSync(join(root, 'a.ts'), text);
  writeFileSync(join(root, '..', 'x.ts'), 'secret');
  writeFileSync(join(root, 'real.ts'), 'real');
  symlinkSync('/dev/zero', join(root, 'zero.ts'));
  symlinkSync('../x.ts', join(root, 'out.ts'));
  symlinkSync('..', join(root, 'folder'));
  symlinkSync('real.ts', join(root, 'in.ts'));
  execFileSync('mkfifo', [join(root, 'pipe.ts')]);
  expect(await contents(root)).toEqual([text, null, null, null, null, 'real']);
});

test('what is too large, alone or together, is known by its size', async () => {
  const root = openProject();
  const names = ['b', 'c', 'd', 'e', 'f', 'g'];
  writeFileSync(join(root, 'a.ts'), names.map((name) => `import './${name}.ts';`).join('\n'));
  for (const name of names) writeFileSync(join(root, `${name}.ts`), ' '.repeat(4 * 1024 * 1024 - 100));
  writeFileSync(join(root, 'b.ts'), ' '.repeat(5 * 1024 * 1024));
  const [, large, ...rest] = await contents(root);
  expect(large).toMatch(/^5242880 bytes, /);
  expect(rest.map((text) => /^\d/.test(text ?? ''))).toEqual([false, false, false, false, true]);
});

test('a file costs about as much as its reading, whatever it says, and names no more files than are looked at', async () => {
  const root = openProject();
  const fill = (text: string, bytes = 4 * 1024 * 1024): string =>
    text.repeat(Math.floor(bytes / text.length));
  const timeOf = async (text: string): Promise<number> => {
    writeFileSync(join(root, 'a.ts'), text);
    const beganAt = performance.now();
    expect((await contents(root)).length).toBeLessThanOrEqual(256);
    return performance.now() - beganAt;
  };
  const longestMs = 500 + 20 * (await timeOf(fill('a word ')));
  const blanks = (bytes?: number): string => `/* import${fill(' ', bytes).slice(20)} */`;
  expect(await timeOf(blanks(200_000))).toBeLessThan(longestMs); // before one that would take hours
  const texts = [
    ...[blanks(), `require (${fill(' ').slice(20)}`, fill('import ( '), fill('from '), fill(`import'./`)],
    Array.from({ length: 200_000 }, (_, n) => `import './${n}'`).join('\n'),
    Array.from({ length: 200_000 }, (_, n) => `import '../${n}'`).join('\n'),
  ];
  for (const text of texts) expect(await timeOf(text)).toBeLessThan(longestMs);
});
