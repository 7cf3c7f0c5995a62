import { expect, test } from 'vitest';
import { MAX_FILE_LINES, parsePatch } from './parse-patch.ts';

const lines = (...all: string[]) => `${all.join('\n')}\n`;

test('a changed file has its hunks with the numbers of both sides', () => {
  const [file] = parsePatch(
    lines(
      'diff --git a/src/a.ts b/src/a.ts',
      'index 1..2 100644',
      '--- a/src/a.ts',
      '+++ b/src/a.ts',
      '@@ -3,2 +3,2 @@ function f()',
      ' same',
      '-old',
      '+new',
      '@@ -20 +20,2 @@',
      ' last',
      '+more',
    ),
  );
  expect(file).toMatchObject({ path: 'src/a.ts', change: 'changed', added: 2, removed: 1, hiddenLines: 0 });
  expect(file?.hunks.map(({ number }) => number)).toEqual([1, 2]);
  expect(file?.hunks[0]?.lines).toEqual([
    { kind: 'context', text: 'same', oldNumber: 3, newNumber: 3 },
    { kind: 'removed', text: 'old', oldNumber: 4, newNumber: null },
    { kind: 'added', text: 'new', oldNumber: null, newNumber: 4 },
  ]);
});

test('a content line that looks like a header stays content', () => {
  const files = parsePatch(
    lines(
      'diff --git a/a b/a',
      '--- a/a',
      '+++ b/a',
      '@@ -1,2 +1,2 @@',
      '--- a/other',
      '-diff --git a/x b/x',
      '+++ b/other',
      '+@@ -1 +1 @@',
    ),
  );
  expect(files).toHaveLength(1);
  expect(files[0]).toMatchObject({ path: 'a', added: 2, removed: 2 });
});

test('a deleted file keeps its old name, a new one has its own', () => {
  const files = parsePatch(
    lines(
      'diff --git a/gone b/gone',
      'deleted file mode 100644',
      '--- a/gone',
      '+++ /dev/null',
      '@@ -1 +0,0 @@',
      '-x',
      'diff --git a/born b/born',
      'new file mode 100644',
      '--- /dev/null',
      '+++ b/born',
      '@@ -0,0 +1 @@',
      '+x',
      '\\ No newline at end of file',
    ),
  );
  expect(files.map(({ path, change }) => [path, change])).toEqual([
    ['gone', 'deleted'],
    ['born', 'added'],
  ]);
  expect(files[1]?.hunks[0]?.lines.at(-1)?.kind).toBe('note');
});

test('renames, modes and binary files need no hunk', () => {
  const files = parsePatch(
    lines(
      'diff --git a/old name b/new name',
      'similarity index 100%',
      'rename from old name',
      'rename to new name',
      'diff --git a/run.sh b/run.sh',
      'old mode 100644',
      'new mode 100755',
      'diff --git a/i.png b/i.png',
      'new file mode 100644',
      'GIT binary patch',
      'literal 3',
    ),
  );
  expect(files.map(({ oldPath, path, change, isBinary }) => [oldPath, path, change, isBinary])).toEqual([
    ['old name', 'new name', 'renamed', false],
    ['run.sh', 'run.sh', 'mode', false],
    ['i.png', 'i.png', 'added', true],
  ]);
});

test('a quoted name is decoded, with its bytes and escapes', () => {
  const [file] = parsePatch(
    lines(
      'diff --git "a/\\303\\244\\t\\"x" "b/\\303\\244\\t\\"x"',
      '--- "a/\\303\\244\\t\\"x"',
      '+++ "b/\\303\\244\\t\\"x"',
      '@@ -1 +1 @@',
      '-a',
      '+b',
    ),
  );
  expect(file?.path).toBe('ä\t"x');
});

test('a file with very many lines is counted, and cut', () => {
  const count = MAX_FILE_LINES + 5;
  const body = Array.from({ length: count }, () => '+x');
  const [file] = parsePatch(
    lines(
      'diff --git a/a b/a',
      'new file mode 100644',
      '--- /dev/null',
      '+++ b/a',
      `@@ -0,0 +1,${count} @@`,
      ...body,
    ),
  );
  expect(file).toMatchObject({ added: count, hiddenLines: 5 });
  expect(file?.hunks[0]?.lines).toHaveLength(MAX_FILE_LINES);
});

test('what is no patch has no file', () => {
  expect(parsePatch('')).toEqual([]);
  expect(parsePatch('hello\n@@ -1 +1 @@\n')).toEqual([]);
});
