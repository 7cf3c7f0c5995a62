import { expect, it } from 'vitest';
import { parseWorkerLine } from './worker-lines.ts';

const at = '2026-01-01T00:00:00.000Z';

it('reads a line by its kind', () => {
  const line = { kind: 'channel.received', seq: 3, at, id: 'message_1' };
  expect(parseWorkerLine(line)).toEqual({ line, seq: 3 });
});

it('refuses what is of no known kind, and what is not of the shape of its kind', () => {
  for (const value of [null, 7, 'x', [], {}, { kind: 'toString' }, { kind: '__proto__', seq: 1, at }])
    expect(parseWorkerLine(value)).toMatchObject({ line: null, problem: 'unknown-kind' });
  expect(parseWorkerLine({ kind: 'channel.received', seq: 'one', at, id: 'x' })).toEqual({
    line: null,
    problem: 'channel.received does not fit: seq (invalid_type)',
    seq: null,
  });
});
