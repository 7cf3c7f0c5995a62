import { expect, test } from 'vitest';
import { sampleEnvelope } from '../../protocol/src/fixtures/sample-events.ts';
import { createNews, type NewsOptions } from './format-news.ts';
import { render, STYLE } from './painted.ts';

const STACK = 'threw: Error: no probe\n    at compute (senses/a.ts:2:48)\n    at run (guest.mjs:3316:37)';

function shown(options: NewsOptions, ...computes: { signals?: string[]; failure?: string }[]): string[] {
  const news = createNews(STYLE, () => Infinity, options);
  return computes.flatMap((compute) => {
    const data = { sense: 'a', cause: 'interval', durationMs: 1, signals: [], ...compute };
    return news(sampleEnvelope('sense.computed', data))
      .map((line) => render(line, false))
      .filter((line) => line.includes('sense.computed'))
      .map((line) => line.slice(line.indexOf('a · by')));
  });
}

test('a compute is news when it emitted, began to fail, or failed no more', () => {
  const failed = { failure: STACK };
  expect(shown({}, {}, {}, { signals: ['red'] }, {}, failed, failed, failed, {}, {})).toEqual([
    'a · by interval · 1 ms · red',
    'a · by interval · 1 ms · threw: Error: no probe',
    'a · by interval · 1 ms',
  ]);
  expect(shown({ isVerbose: true }, {}, {}, failed, failed)).toHaveLength(4);
});

test('the name before an event counts for its width', () => {
  const news = createNews(STYLE, () => 60, { nameOf: () => 'project  ' });
  const lines = news(sampleEnvelope('sense.computed', { signals: ['red'.repeat(9), 'a b c d e f g h i j'] }));
  for (const line of lines) expect(render(line, false).length).toBeLessThanOrEqual(60);
  expect(lines.length).toBeGreaterThan(2);
});
