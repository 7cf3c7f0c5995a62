import type { EventEnvelope } from '@caisson/protocol';
import { expect, test } from 'vitest';
import { buildTimeline } from './build-timeline.ts';
import { packLanes } from './pack-lanes.ts';
import { pan, ticksOf, zoom } from './view.ts';

const START = Date.parse('2026-01-01T00:00:00.000Z');
let seq = 0;
/** Only the members that are read. */
const at = (ms: number, type: string, data: object = {}): EventEnvelope => {
  seq += 1;
  return {
    type,
    seq,
    attempt: 1,
    at: new Date(START + ms).toISOString(),
    ...data,
  } as unknown as EventEnvelope;
};
const bars = (events: EventEnvelope[], nowMs = 0) =>
  buildTimeline(events, START + nowMs).bars.map(({ lane, label, startMs, endMs, tone }) => [
    ...[lane, label, startMs - START, endMs - START, tone],
  ]);

test('the phases of a run follow each other', () => {
  const events = [
    at(0, 'dispatch.accepted'),
    at(10, 'run.queued', { position: 2, limit: 1 }),
    at(100, 'attempt.launched'),
    at(150, 'dispatch.started'),
    at(950, 'runtime.adapter.ran', { durationMs: 700 }),
    at(1000, 'dispatch.finished'),
  ];
  expect(bars(events)).toEqual([
    ['phases', 'accepted', 0, 10, 'quiet'],
    ['phases', 'queued', 10, 100, 'wait'],
    ['phases', 'starts', 100, 150, 'quiet'],
    ['phases', 'works', 150, 250, 'run'],
    ['phases', 'agent works', 250, 950, 'run'],
    ['phases', 'checks and saves', 950, 1000, 'quiet'],
    ['waits', 'waits for a slot', 10, 100, 'wait'],
  ]);
});

test('tools, model calls and waits are bars with their reason', () => {
  const events = [
    at(0, 'dispatch.started'),
    at(10, 'tool.started', { callId: 'a', tool: 'bash', what: 'ls' }),
    at(20, 'approval.requested', { approvalId: 'p', tool: 'bash', what: 'rm' }),
    at(40, 'approval.decided', { approvalId: 'p', decision: 'deny', by: 'user' }),
    at(50, 'tool.ended', { callId: 'a', ok: false, detail: 'no' }),
    at(90, 'model.called', {
      model: 'm',
      durationMs: 30,
      outcome: 'answered',
      tokens: { input: 1, output: 2, cacheRead: 0 },
    }),
    at(300, 'run.stalled', { reason: 'model-silent', detail: 'for long', silentMs: 200 }),
    at(400, 'tool.started', { callId: 'b', tool: 'read', what: 'f' }),
  ];
  expect(bars(events, 500)).toEqual([
    ['phases', 'works', 0, 500, 'run'],
    ['waits', 'approval of bash', 20, 40, 'wait'],
    ['tools', 'bash', 10, 50, 'bad'],
    ['model', 'm', 60, 90, 'ok'],
    ['waits', 'model silent', 100, 400, 'bad'],
    ['tools', 'read', 400, 500, 'run'],
  ]);
});

test('a run without events, and an end without a start, are no error', () => {
  expect(bars([])).toEqual([]);
  expect(bars([at(0, 'tool.ended', { callId: 'x', ok: true })])).toEqual([]);
});

test('bars that overlap are in rows below each other', () => {
  const bar = (startMs: number, endMs: number) =>
    ({ lane: 'tools', startMs, endMs, label: '', detail: '', tone: 'ok' }) as const;
  const [lane] = packLanes([bar(0, 10), bar(5, 15), bar(10, 20)]);
  expect(lane?.bars.map(({ row }) => row)).toEqual([0, 1, 0]);
  expect(packLanes(Array.from({ length: 50 }, () => bar(0, 10)))[0]?.rows).toBe(6);
});

test('the view stays inside the whole', () => {
  const whole = { fromMs: 0, toMs: 1000 };
  const near = zoom(whole, whole, 0.5);
  expect(near).toEqual({ fromMs: 250, toMs: 750 });
  expect(pan(near, whole, 9)).toEqual({ fromMs: 500, toMs: 1000 });
  expect(zoom(near, whole, 100)).toEqual(whole);
  expect(zoom(near, whole, 0).toMs - zoom(near, whole, 0).fromMs).toBe(20);
  expect(ticksOf(whole, 0, 5)).toEqual([0, 200, 400, 600, 800, 1000]);
  expect(ticksOf({ fromMs: 0, toMs: 1e12 }, 0, 5).length).toBeLessThan(10);
});
