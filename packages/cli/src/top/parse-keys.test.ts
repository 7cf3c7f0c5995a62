import { expect, test } from 'vitest';
import { parseKeys } from './parse-keys.ts';

test('keys have names, in both forms that terminals send', () => {
  expect(parseKeys('\u001b[A\u001bOB\u001b[5~\u001b[6~\u001b[H\u001b[4~\r\t\u007f\u0003\u001a')).toEqual([
    ...['up', 'down', 'page-up', 'page-down', 'home', 'end'],
    ...['enter', 'tab', 'backspace', 'ctrl-c', 'ctrl-z'],
  ]);
});

test('a character is itself, escape alone is a key, and what is unknown is left out', () => {
  expect(parseKeys('aß😀')).toEqual(['a', 'ß', '😀']);
  expect(parseKeys('\u001b')).toEqual(['escape']);
  expect(parseKeys('\u001b[200~x\u001b[99;5u\u0001')).toEqual(['x']);
});
