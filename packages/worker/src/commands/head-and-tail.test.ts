import { expect, it } from 'vitest';
import { createHeadAndTail, joinOutputs, shorten } from './head-and-tail.ts';

const MAX = 1064;

function collect(chunks: readonly string[]): string {
  const collected = createHeadAndTail(MAX);
  for (const chunk of chunks) collected.push(Buffer.from(chunk));
  return collected.text();
}

it('a stream that fits is kept as it is, however it is cut into pieces', () => {
  const text = 'x'.repeat(200) + 'y'.repeat(600);
  expect(collect([text])).toBe(text);
  expect(collect([...text])).toBe(text);
  expect(collect([])).toBe('');
});

it('of a long stream the beginning and the end are kept, and what is missing is counted', () => {
  const lines = Array.from({ length: 10_000 }, (_, index) => `line ${index}\n`);
  for (const chunks of [lines, [lines.join('')]]) {
    const text = collect(chunks);
    expect(text.length).toBeLessThanOrEqual(MAX);
    expect(text).toMatch(/^line 0\nline 1\n/);
    expect(text).toMatch(/line 9998\nline 9999\n$/);
    const missing = Number(/\n\[… (\d+) bytes left out …\]\n/.exec(text)?.[1]);
    expect(missing).toBe(lines.join('').length - 1000);
  }
});

it('a long text on one stream leaves the other its half', () => {
  const report = joinOutputs(`${'o'.repeat(9000)}last of stdout`, `first of stderr${'e'.repeat(9000)}`, MAX);
  expect(report.length).toBeLessThanOrEqual(MAX);
  expect(report).toContain('last of stdout\nfirst of stderr');
  expect(joinOutputs('out', 'e'.repeat(9000), MAX)).toBe(`out\n${shorten('e'.repeat(9000), MAX - 4)}`);
  expect(joinOutputs('', 'err', MAX)).toBe('err');
});
