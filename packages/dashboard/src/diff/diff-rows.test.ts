import { expect, test } from 'vitest';
import { describeComments, setComment } from './comments.ts';
import { findOpenAtFirst, toDiffRows } from './diff-rows.ts';
import { highlightLine, findLanguage } from './highlight-line.ts';
import { parsePatch } from './parse-patch.ts';

const patchOf = (path: string, added: number) =>
  `diff --git a/${path} b/${path}\nnew file mode 100644\n--- /dev/null\n+++ b/${path}\n@@ -0,0 +1,${added} @@\n${'+line\n'.repeat(added)}`;

test('small files are open, big ones are closed', () => {
  const files = parsePatch(patchOf('small', 3) + patchOf('big', 1000));
  const open = findOpenAtFirst(files);
  expect([...open]).toEqual(['small']);
  expect(toDiffRows(files, open, new Map()).map(({ kind }) => kind)).toEqual([
    ...['file', 'hunk', 'line', 'line', 'line'],
    'file',
  ]);
});

test('a comment stands below its line, and in the message with its place', () => {
  const files = parsePatch(patchOf('small', 2));
  const place = { path: 'small', line: 2, side: 'new', code: '  line' } as const;
  const comments = setComment(new Map(), { ...place, text: 'Why?' });
  const rows = toDiffRows(files, new Set(['small']), comments);
  expect(rows.at(-1)).toMatchObject({ kind: 'comment', comment: { text: 'Why?' } });
  expect(describeComments(comments)).toBe(
    'Comments on your changes. Address each of them.\n\nsmall:2\n> line\nWhy?',
  );
  expect(setComment(comments, { ...place, text: ' ' }).size).toBe(0);
});

test('colours never change the text', () => {
  const line = `const a = "x \\" y"; // it's 42 \`z`;
  const tokens = highlightLine(line, findLanguage('src/a.ts'));
  expect(tokens.map(({ text }) => text).join('')).toBe(line);
  expect(tokens.filter(({ kind }) => kind !== 'plain')).toEqual([
    { kind: 'key', text: 'const' },
    { kind: 'text', text: '"x \\" y"' },
    { kind: 'note', text: "// it's 42 `z" },
  ]);
});

test('an unknown language and a very long line are plain, and a hostile one is quick', () => {
  expect(highlightLine('if x', findLanguage('a.unknown'))).toEqual([{ kind: 'plain', text: 'if x' }]);
  expect(highlightLine('"'.repeat(5000), findLanguage('a.ts'))).toHaveLength(1);
  const startedMs = Date.now();
  highlightLine('"\\'.repeat(999), findLanguage('a.ts'));
  expect(Date.now() - startedMs).toBeLessThan(500);
});
