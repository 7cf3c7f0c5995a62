import { expect, test } from 'vitest';
import type { PublishedEvent } from '../ledger/index.ts';
import type { Metric } from './contract.ts';
import { createRunMetrics } from './run-metrics.ts';

const LIVE = { runs: { queued: 2, running: 1 }, loopDelay: { mean: 0.01, max: 0.2 } };

function event(type: string, data: object, runId: string | null = 'run_1', ms = 0): PublishedEvent {
  const at = new Date(Date.parse('2026-11-18T00:00:00.000Z') + ms).toISOString();
  return { type, data, runId, attempt: 1, seq: 1, offset: 1, at, trace: '' } as unknown as PublishedEvent;
}

function find(metrics: readonly Metric[], name: string): unknown {
  return metrics.find((metric) => metric.name === name)?.points;
}

test('a run is counted once, by its ending, with what it used', () => {
  const metrics = createRunMetrics(() => 'codex');
  metrics.receive(event('run.queued', { position: 1, limit: 1 }, 'run_1', 10));
  metrics.receive(event('attempt.launched', {}, 'run_1', 2010));
  const tokens = { input: 5, output: 7, cacheRead: 0, cacheWrite: 0 };
  metrics.receive(
    event('model.called', { model: 'm', tokens, costUsd: 0.5, durationMs: 1, outcome: 'answered' }),
  );
  metrics.receive(event('tool.ended', { ok: false }));
  metrics.receive(
    event('dispatch.failed', {
      durationMs: 700,
      failure: { reason: 'timeout', detail: 'the deadline passed' },
    }),
  );
  metrics.receive(event('task.refused', { check: 'queue-bound', detail: 'full' }, null));
  const read = metrics.read(LIVE);
  expect(find(read, 'caisson.runs')).toEqual([
    { labels: { status: 'timeout', reason: 'timeout', runtime: 'codex' }, value: 1 },
  ]);
  expect(find(read, 'caisson.run.duration')).toMatchObject([
    { labels: { status: 'timeout' }, sum: 0.7, count: 1 },
  ]);
  expect(find(read, 'caisson.queue.wait')).toMatchObject([{ sum: 2, count: 1 }]);
  expect(find(read, 'caisson.tokens')).toContainEqual({ labels: { model: 'm', kind: 'output' }, value: 7 });
  expect(find(read, 'caisson.cost')).toEqual([{ labels: { model: 'm' }, value: 0.5 }]);
  expect(find(read, 'caisson.tool.calls')).toEqual([{ labels: { outcome: 'failed' }, value: 1 }]);
  expect(find(read, 'caisson.tasks.refused')).toEqual([{ labels: { check: 'queue-bound' }, value: 1 }]);
  expect(find(read, 'caisson.runs.live')).toContainEqual({ labels: { status: 'queued' }, value: 2 });
});

test('names from outside cannot make the page grow without end', () => {
  const metrics = createRunMetrics(() => 'codex');
  const tokens = { input: 1, output: 0, cacheRead: 0, cacheWrite: 0 };
  for (let index = 0; index < 2000; index += 1)
    metrics.receive(
      event('model.called', { model: `m${index}`, tokens, durationMs: 1, outcome: 'answered' }),
    );
  const points = find(metrics.read(LIVE), 'caisson.tokens') as { value: number }[];
  expect(points.length).toBeLessThanOrEqual(257);
  expect(points.reduce((sum, { value }) => sum + value, 0)).toBe(2000);
});

test('a wait is over with the slot, not when the base is here and the sandbox made', () => {
  const metrics = createRunMetrics(() => 'codex');
  metrics.receive(event('run.queued', { position: 1, limit: 1 }, 'run_1', 0));
  metrics.receive(event('run.placed', {}, 'run_1', 1000));
  metrics.receive(event('repository.fetched', { ms: 60_000 }, 'run_1', 61_000));
  metrics.receive(event('attempt.launched', {}, 'run_1', 62_000));
  expect(find(metrics.read(LIVE), 'caisson.queue.wait')).toMatchObject([{ sum: 1, count: 1 }]);
});
