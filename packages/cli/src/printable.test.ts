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

test('a style that would hide text is left out, and the text stays in sight', () => {
  expect(printableText('a\u001b[8mhidden\u001b[28m \u001b[1;31mred\u001b[0m')).toBe(
    'ahidden \u001b[1;31mred\u001b[0m',
  );
  expect(printableText('\u001b[30;40mblack on black\u001b[m')).toBe('black on black\u001b[m');
  expect(printableText('\u001b[38;5;0m\u001b[48;2;0;0;0mx\u001b[7m')).toBe('x');
  expect(printableText('\u001b[0;8mx\u001b[5m')).toBe('x');
});
