import { expect, test } from 'vitest';
import { printable, printableJson, printableLines } from './printable.ts';

test('what a terminal would obey is shown as its number', () => {
  expect(printable('rm -rf x\r\u001b[2Kls')).toBe('rm -rf x\\u000d\\u001b[2Kls');
  expect(printable('a\u202eb\u061cc\u00add\u{e0041}')).toBe('a\\u202eb\\u061cc\\u00add\\u{e0041}');
  expect(printable('\u009b31m\u007f\u2028\u2029\n\t')).toBe('\\u009b31m\\u007f\\u2028\\u2029\\u000a\\u0009');
  expect(printable('plain é 漢 🎉 text')).toBe('plain é 漢 🎉 text');
});

test('text of several lines keeps lines and tabs, and leaves styles out', () => {
  expect(printableLines('a\tb\r\n\u001b[32mok\u001b[0m \u001b]52;c;AAAA\u0007\u001b[2J')).toEqual([
    'a\tb',
    'ok \\u001b]52;c;AAAA\\u0007\\u001b[2J',
  ]);
  expect(printableLines('a\u001b[8mhidden\u001b[28m \u001b[38:2::1:2:3mred')).toEqual(['ahidden red']);
});

test('what is left of styles inside each other is no style', () => {
  expect(printableLines('\u001b\u001b[m[31mred')).toEqual(['\\u001b[31mred']);
});

test('JSON stays the same value, and has nothing in it that a terminal would obey', () => {
  const value = { 'k\u009b\u202e': 'a\u001b]8;;x\u0007\u007f\u2028\u{e0041}\n\t"\\' };
  for (const json of [JSON.stringify(value), JSON.stringify(value, null, 2)]) {
    const shown = printableJson(json);
    expect(JSON.parse(shown)).toEqual(value);
    expect(shown.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
  }
});
