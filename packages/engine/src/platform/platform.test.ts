import { createManualClock, createRedactor } from '@caisson/ground';
import { RunId } from '@caisson/protocol';
import { describe, expect, test } from 'vitest';

import {
  backoffMs,
  CaissonError,
  createLineSink,
  createLogger,
  createRunId,
  type LogRecord,
} from './index.ts';

describe('ids', () => {
  test('a run id has the shape of the protocol and sorts by time', () => {
    const clock = createManualClock();
    const ids = Array.from({ length: 100 }, () => {
      clock.advance(1);
      return createRunId(clock);
    });
    for (const id of ids) expect(RunId.safeParse(id).success).toBe(true);
    expect(ids.toSorted()).toEqual(ids);
  });

  test('ids of one millisecond differ', () => {
    const clock = createManualClock();
    expect(new Set(Array.from({ length: 1000 }, () => createRunId(clock))).size).toBe(1000);
  });
});

describe('backoff', () => {
  test('doubles from one second to sixty', () => {
    const delays = [0, 1, 2, 3, 4, 5, 6, 7, 2000].map((retry) => backoffMs(retry, { random: () => 0 }));
    expect(delays).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, 60_000]);
  });

  test('chance takes away at most a quarter and adds nothing', () => {
    expect(backoffMs(0, { random: () => 0.999_999 })).toBe(750);
    expect(backoffMs(9, { random: () => 0.5 })).toBe(52_500);
  });

  test('a retry number that makes no sense is refused', () => {
    expect(() => backoffMs(-1)).toThrow(RangeError);
    expect(() => backoffMs(0.5)).toThrow(RangeError);
  });
});

describe('logger', () => {
  const clock = createManualClock(Date.UTC(2026, 0, 2));

  test('a record carries time, level, message and merged fields, errors in their travelling form', () => {
    class NoRoomError extends CaissonError {
      readonly code = 'NO_ROOM';
    }
    const records: LogRecord[] = [];
    const logger = createLogger({ sink: (record) => records.push(record), clock }).with({ runId: 'run_1' });
    logger.warn('it failed', { error: new NoRoomError('no room', { remedy: 'make room' }), tries: 2 });
    expect(records).toEqual([
      {
        at: '2026-01-02T00:00:00.000Z',
        level: 'warn',
        message: 'it failed',
        fields: {
          runId: 'run_1',
          tries: 2,
          error: { code: 'NO_ROOM', message: 'no room', retryable: false, remedy: 'make room' },
        },
      },
    ]);
  });

  test('records below the level are not made', () => {
    const levels: string[] = [];
    const logger = createLogger({ sink: ({ level }) => levels.push(level), clock, level: 'warn' });
    logger.debug('x');
    logger.info('x');
    logger.warn('x');
    logger.error('x');
    expect(levels).toEqual(['warn', 'error']);
  });

  test('a sink that throws, or a field that cannot be written, does not reach the caller', () => {
    const lines: string[] = [];
    const cyclic: Record<string, unknown> = {};
    cyclic['self'] = cyclic;
    const broken = createLogger({
      sink: () => {
        throw new Error('disk full');
      },
      clock,
    });
    const cycling = createLogger({ sink: createLineSink((line) => lines.push(line)), clock });
    expect(() => broken.info('x')).not.toThrow();
    expect(() => cycling.info('x', { cyclic })).not.toThrow();
    expect(lines).toEqual([]);
  });

  test('a line sink writes one line and lets the redactor see all of it', () => {
    const lines: string[] = [];
    const { redact } = createRedactor([{ name: 'KEY', value: 'sec"ret\n1' }]);
    const logger = createLogger({ sink: createLineSink((line) => lines.push(line), redact), clock });
    logger.info('got sec"ret\n1', { deep: [{ header: 'Bearer sec"ret\n1' }] });
    expect(lines).toEqual([
      '{"at":"2026-01-02T00:00:00.000Z","level":"info","message":"got [redacted:KEY]",' +
        '"fields":{"deep":[{"header":"Bearer [redacted:KEY]"}]}}\n',
    ]);
  });
});
