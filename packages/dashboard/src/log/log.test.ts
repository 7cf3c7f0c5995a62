import { expect, test } from 'vitest';
import { LogBuffer } from './log-buffer.ts';
import { classOf, lastOverwrite, parseAnsi, PLAIN } from './parse-ansi.ts';

const shown = (line: string) => parseAnsi(line).spans.map(({ text, style }) => [text, classOf(style)]);

test('colours become classes', () => {
  expect(shown('a\u001b[1;31mred\u001b[0m b')).toEqual([
    ['a', ''],
    ['red', 'ansi-f1 ansi-bold'],
    [' b', ''],
  ]);
  expect(shown('\u001b[38;5;196mx\u001b[48;2;0;200;0my')).toEqual([
    ['x', 'ansi-f9'],
    ['y', 'ansi-f9 ansi-b10'],
  ]);
});

test('what is no colour is removed: cursor, title, link, bell', () => {
  const line = '\u001b[2J\u001b[1;1Ha\u001b]0;title\u0007b\u001b]8;;http://x\u001b\\c\u0007\u001b(Bd';
  expect(shown(line)).toEqual([['abcd', '']]);
  expect(shown('a\u001b]0;never ends')).toEqual([['a', '']]);
});

test('a line of a hundred thousand colours is quick, and has few spans', () => {
  const line = Array.from({ length: 100_000 }, (_, index) => `\u001b[3${index % 8}mx`).join('');
  const startedMs = Date.now();
  const { spans } = parseAnsi(line);
  expect(spans.length).toBeLessThanOrEqual(500);
  expect(spans.reduce((sum, { text }) => sum + text.length, 0)).toBe(100_000);
  expect(Date.now() - startedMs).toBeLessThan(3000);
});

test('a very long list of codes is cut', () => {
  expect(parseAnsi(`\u001b[${'1;'.repeat(50_000)}mx`).spans[0]?.style.isBold).toBe(true);
});

test('a progress bar leaves its last state', () => {
  expect(lastOverwrite('10%\r50%\r100%\r')).toBe('100%');
});

test('the buffer keeps the newest lines and counts the others', () => {
  const buffer = new LogBuffer({ maxLines: 100 });
  for (let index = 0; index < 1000; index += 1) buffer.push(`line ${index}\n`);
  expect(buffer.lines.length).toBeLessThanOrEqual(100);
  expect(buffer.lines.at(-1)?.text).toBe('line 999');
  expect(buffer.droppedLines + buffer.lines.length).toBe(1000);
});

test('the buffer keeps no more characters than it may, whatever the lines are', () => {
  const buffer = new LogBuffer({ maxChars: 50_000 });
  for (let index = 0; index < 200; index += 1) buffer.push(`${'x'.repeat(3000)}\n`);
  expect(buffer.lines.reduce((sum, { text }) => sum + text.length, 0)).toBeLessThanOrEqual(53_000);
});

test('a line without an end is cut, and says so', () => {
  const buffer = new LogBuffer();
  for (let index = 0; index < 100; index += 1) buffer.push('y'.repeat(10_000));
  expect(buffer.lines[0]?.text.length).toBeLessThan(5000);
  expect(buffer.lines[0]?.text).toMatch(/ … \d+ more characters$/);
});

test('pieces may end anywhere, and a colour lasts over lines', () => {
  const buffer = new LogBuffer();
  for (const piece of ['a\u001b[3', '1mb', '\nc\n']) buffer.push(piece);
  expect(buffer.lines.map(({ text }) => text)).toEqual(['a\u001b[31mb', 'c']);
  expect(buffer.lines[0]?.start).toEqual(PLAIN);
  expect(buffer.lines[1]?.start.foreground).toBe(1);
});
