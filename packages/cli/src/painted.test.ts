import { expect, test } from 'vitest';
import { joinLine, line, render, STYLE, textLines, wrapLine } from './painted.ts';

const { red, bold } = STYLE;

test('what is put into a line is escaped, and our own styles are not', () => {
  const name = 'x\u001b[31m\ny';
  expect(render(line`${red('error:')} ${name} ${7}`, true)).toBe(
    '\u001b[31merror:\u001b[39m x\\u001b[31m\\u000ay 7',
  );
  expect(render(red(name), true)).toBe('\u001b[31mx\\u001b[31m\\u000ay\u001b[39m');
  expect(render(name, true)).toBe('x\\u001b[31m\\u000ay');
});

test('a stream without styles gets the text alone', () => {
  expect(render(line`${red('a')} ${bold(red('b'))}`, false)).toBe('a b');
});

test('a painted line in a template that is not ours loses its styles and nothing else', () => {
  expect(String(red('a'))).toBe('a');
});

test('foreign text becomes a list of lines', () => {
  expect(textLines('a\n\u001b[1mb\u0007', '  ').map((text) => render(text, true))).toEqual([
    '  a',
    '  b\\u0007',
  ]);
  expect(render(joinLine(['a\n', red('b')], ' · '), false)).toBe('a\\u000a · b');
});

test('a long line is broken between words, below its text, and keeps its label', () => {
  const long = line`${STYLE.red('error:')} ${'several words '.repeat(12).trim()}`;
  const broken = wrapLine(long, 80, 2);
  expect(broken.map((part) => render(part, false))).toEqual([
    `error: ${'several words '.repeat(5).trim()}`,
    `  ${'several words '.repeat(5)}several`,
    '  words several words',
  ]);
  expect(render(broken[0] ?? '', true)).toMatch(/^\u001b\[31merror:\u001b\[39m several/);
  expect(wrapLine(long, Infinity, 2)).toEqual([long]);
});

test('a style that goes on behind the break ends there', () => {
  const [first = '', second = ''] = wrapLine(STYLE.dim('one two three'), 8, 2);
  expect([render(first, true), render(second, true)]).toEqual([
    '\u001b[2mone two\u001b[22m\u001b[39m',
    '  three',
  ]);
});
