import { expect, test } from 'vitest';
import { printable, printableText } from './printable.ts';

test('characters that move the cursor or turn the line around are shown, not obeyed', () => {
  expect(printable('rm -rf x\r\u001b[2Kls')).toBe('rm -rf x\\u000d\\u001b[2Kls');
  expect(printable('a\u202eb')).toBe('a\\u202eb');
  expect(printable('plain é 漢 text')).toBe('plain é 漢 text');
});

test('a reply keeps its lines and colours, and loses its power over the terminal', () => {
  expect(printableText('a\tb\r\n\u001b[32mok\u001b[0m \u001b]52;c;AAAA\u0007\u001b[2J')).toBe(
    'a\tb\n\u001b[32mok\u001b[0m \\u001b]52;c;AAAA\\u0007\\u001b[2J',
  );
});
