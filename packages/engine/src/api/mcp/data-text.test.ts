import { expect, test } from 'vitest';
import { cutEnd, cutStart, pageOf, toDataText, toVisible } from './data-text.ts';

test('what nobody sees is written out, and the JSON keeps its meaning', () => {
  const value = { text: 'a\u200Bb\u202Ec\u{E0041}d\u009B' };
  const json = toDataText(value);
  expect(json).toContain('a\\u200bb\\u202ec\\udb40\\udc41d\\u009b');
  expect(JSON.parse(json)).toEqual(value);
  expect(toVisible(value)).toEqual({ text: 'a\\u200bb\\u202ec\\udb40\\udc41d\\u009b' });
});

test('a cut splits no character and says what is missing', () => {
  expect(cutEnd('ab😀c', 3)).toBe('ab… (3 more characters)');
  expect(cutStart('ab😀c', 2)).toBe('(4 characters before) …c');
  expect(pageOf('ab😀c', 0, 3)).toEqual({ text: 'ab', nextOffset: 2 });
  expect(pageOf('ab😀c', 2, 3)).toEqual({ text: '😀c', nextOffset: null });
  expect(pageOf('ab', 9, 3)).toEqual({ text: '', nextOffset: null });
});
