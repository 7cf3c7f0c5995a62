import { expect, test } from 'vitest';
import { createStallWatch } from './stall-watch.ts';

test('an agent is not called silent for the time in which its worker was', () => {
  const reported: string[] = [];
  const heartbeatMs = 100;
  const watch = createStallWatch({
    ...{ startedMs: 0, heartbeatMs, usesModel: false },
    onStalled: (reason) => reported.push(reason),
  });
  const quiet = { bytes: 0, turns: 0, toolCalls: 0, tokensIn: 0, tokensOut: 0, cpuMs: 0 };
  const beat = { ...quiet, currentTool: null, waiting: null } as Parameters<typeof watch.beat>[1];
  watch.beat(100, { ...beat, bytes: 1 });
  watch.check(1000, { reason: 'stopped', detail: 'the worker' });
  watch.beat(1010, beat);
  watch.check(1020, null);
  expect(reported).toEqual(['stopped']);
  watch.check(1300, null);
  expect(reported).toEqual(['stopped', 'in-tool']);
  expect(watch.silentMs(1300)).toBe(1200);
});

test('an agent that was stopped is not called silent for the time before it could speak again', () => {
  const reported: string[] = [];
  const watch = createStallWatch({
    ...{ startedMs: 0, heartbeatMs: 100, usesModel: false },
    onStalled: (reason) => reported.push(reason),
  });
  const quiet = { bytes: 0, turns: 0, toolCalls: 0, tokensIn: 0, tokensOut: 0, cpuMs: 0 };
  const beat = { ...quiet, currentTool: null, waiting: null } as Parameters<typeof watch.beat>[1];
  watch.beat(100, { ...beat, waiting: 'stopped' });
  watch.check(150, null);
  expect(reported).toEqual([]);
  watch.check(300, null);
  watch.check(1000, null);
  watch.beat(1010, beat);
  watch.check(1020, null);
  expect(reported).toEqual(['stopped']);
  watch.check(1300, null);
  expect(reported).toEqual(['stopped', 'in-tool']);
});
