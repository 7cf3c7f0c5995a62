import { expect, test } from 'vitest';
import { printable } from './printable.ts';

test('characters that move the cursor or turn the line around are shown, not obeyed', () => {
  expect(printable('rm -rf x\r\u001b[2Kls')).toBe('rm -rf x\\u000d\\u001b[2Kls');
  expect(printable('a\u202eb')).toBe('a\\u202eb');
  expect(printable('plain é 漢 text')).toBe('plain é 漢 text');
});
