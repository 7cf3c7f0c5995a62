import { expect, test } from 'vitest';
import { formatTable } from './format-table.ts';
import { render } from './painted.ts';

const ROWS = [
  ['NAME', 'USES', 'WHERE'],
  ['codex', 'nothing: set OPENAI_API_KEY, or log in with codex', 'codex is not in PATH'],
  ['native', 'the key in MODEL_KEY', 'built in'],
];

test('a table that does not fit wraps its widest columns, and one that fits stays as it is', () => {
  const show = (columns?: number): string[] =>
    formatTable(ROWS, undefined, columns).map((line) => render(line, false));
  expect(show(44)).toEqual([
    'NAME    USES               WHERE',
    'codex   nothing: set       codex is not in',
    '        OPENAI_API_KEY,    PATH',
    '        or log in with',
    '        codex',
    'native  the key in         built in',
    '        MODEL_KEY',
  ]);
  expect(show()).toEqual(show(200));
  expect(show()).toHaveLength(3);
});
