import { BusTopic, identifyEvent } from '@caisson/protocol';
import { expect, it } from 'vitest';
import { SAMPLE_DATA, SAMPLE_GRANT } from '../../../protocol/src/fixtures/sample-events.ts';
import { createBus } from '../bus/index.ts';
import type { PublishedEvent } from '../ledger/index.ts';
import { createBusPublisher } from './publish-on-bus.ts';

const event = (type: string, data: Record<string, unknown>): PublishedEvent => ({
  ...identifyEvent(type, data),
  id: 'x',
  runId: 'run_00000000000000000001',
  attempt: 1,
  version: 1,
  at: '2026-01-01T00:00:00.000Z',
  trace: 't',
  seq: 2,
  offset: 2,
});

it('a compiled prompt is published on the bus by its hash, never by its text', async () => {
  const bus = createBus();
  const received: unknown[] = [];
  bus.on(BusTopic.PROMPT_COMPILED, (payload) => received.push(payload));
  const data = {
    role: 'reviewer',
    tier: 'fast',
    mode: 'suggest',
    estimatedTokens: 12,
    fragmentCount: 2,
    hash: 'a'.repeat(64),
  };
  createBusPublisher(bus)(event('prompt.compiled', data));
  await expect.poll(() => received).toEqual([data]);
});

it('a run is published as started when its worker is up, with task, runtime, agent and model', async () => {
  const bus = createBus();
  const received: unknown[] = [];
  bus.on(BusTopic.RUN_STARTED, (payload) => received.push(payload));
  const publish = createBusPublisher(bus);
  const grant = SAMPLE_GRANT;
  const resolved = { capabilities: [], env: [], model: { requested: 'gpt-5', served: [] } };
  const task = { id: 't', description: 'fix it', priority: 5 };
  publish(event('dispatch.accepted', { task, runtime: 'codex', agent: 'fixer', host: 'h', grant, resolved }));
  expect(received).toEqual([]);
  publish(event('dispatch.started', { grant }));
  const who = { runId: 'run_00000000000000000001', attempt: 1, at: '2026-01-01T00:00:00.000Z' };
  await expect
    .poll(() => received)
    .toEqual([{ ...who, task: 'fix it', runtime: 'codex', agent: 'fixer', model: 'gpt-5' }]);
});

it('a compaction of the agent is published on its own topic', async () => {
  const bus = createBus();
  const received: unknown[] = [];
  bus.on(BusTopic.COMPACTION_STARTED, (payload) => received.push(payload));
  createBusPublisher(bus)(event('compaction.started', { reason: 'auto' }));
  await expect
    .poll(() => received)
    .toEqual([{ runId: 'run_00000000000000000001', attempt: 1, reason: 'auto' }]);
});

it('progress names the tools that were called last, and the ending its agent', async () => {
  const bus = createBus();
  const received: unknown[] = [];
  bus.on(BusTopic.WORKER_PROGRESS, ({ currentTool, recentTools }) =>
    received.push({ currentTool, recentTools }),
  );
  bus.on(BusTopic.RUN_FINISHED, ({ agent, status }) => received.push({ agent, status }));
  const publish = createBusPublisher(bus);
  publish(event('dispatch.accepted', { ...SAMPLE_DATA['dispatch.accepted'], agent: 'fixer' }));
  for (const tool of ['a', 'a', null, 'b', 'c', 'd', 'e', 'f'])
    publish(event('worker.progress', { phase: 'agent', tool }));
  publish(event('dispatch.finished', SAMPLE_DATA['dispatch.finished']));
  await expect.poll(() => received.length).toBe(9);
  expect(received[2]).toEqual({ currentTool: null, recentTools: ['a'] });
  expect(received[7]).toEqual({ currentTool: 'f', recentTools: ['b', 'c', 'd', 'e', 'f'] });
  expect(received[8]).toEqual({ agent: 'fixer', status: 'done' });
});
