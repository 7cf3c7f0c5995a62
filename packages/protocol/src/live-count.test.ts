import { expect, test } from 'vitest';
import type { DataOf, EventContent, EventType } from './events.ts';
import { LiveCount } from './live-count.ts';
import { LiveRun } from './live-run.ts';

const at = (second: number): string => new Date(Date.UTC(2026, 0, 2, 3, 4, second)).toISOString();

function event<T extends EventType>(type: T, data: DataOf<T>, second = 0, attempt = 1) {
  return { ...({ type, data } as unknown as EventContent), attempt, at: at(second) };
}

const call = (callId: string, tool = 'bash', what = 'npm test') => ({ callId, tool, what });
const answer = (input: number, costUsd?: number): DataOf<'model.called'> => ({
  model: 'm',
  tokens: { input, output: 1, cacheRead: 0, cacheWrite: 0 },
  durationMs: 1,
  outcome: 'answered',
  ...(costUsd === undefined ? {} : { costUsd }),
});
const beat = (turns: number): DataOf<'worker.heartbeat'> => ({
  counters: {
    turns,
    toolCalls: 0,
    tokensIn: 0,
    tokensOut: 0,
    cpuMs: 0,
    bytes: 0,
    currentTool: null,
    waiting: null,
  },
});

function counted(...events: ReturnType<typeof event>[]): LiveRun {
  const count = new LiveCount(at(0));
  for (const each of events) count.add(each);
  return LiveRun.parse(count.read('host'));
}

test('a run that was only accepted is prepared, and has used nothing', () => {
  expect(counted()).toEqual({
    phase: 'preparing',
    since: at(0),
    attempt: 0,
    turns: 0,
    toolCalls: 0,
    tokens: 0,
    health: 'healthy',
    source: 'host',
  });
});

test('the phase follows live and recorded events, and has the time of its beginning', () => {
  const story = [
    event('run.queued', { position: 1, limit: 1 }, 1, 0),
    event('run.placed', {}, 2, 0),
    event('attempt.launched', { handle: {}, nonce: 'n', workspace: {} }, 3),
    event('worker.progress', { phase: 'setup' }, 4),
    event('worker.progress', { phase: 'agent' }, 5),
    event('worker.progress', { phase: 'agent', turns: 1 }, 6),
    event('worker.progress', { phase: 'script', message: 'verify: npm test' }, 7),
    event('worker.progress', { phase: 'capture' }, 8),
    event('capture.done', { what: 'outputs', files: 0, bytes: 0 }, 9),
  ];
  const phases = story.map((_, index) => counted(...story.slice(0, index + 1)));
  expect(phases.map(({ phase, since }) => `${phase} ${since.slice(17, 19)}`)).toEqual([
    'queued 01',
    'preparing 02',
    'starting 03',
    'setup 04',
    'working 05',
    'working 05',
    'verifying 07',
    'capturing 08',
    'settling 09',
  ]);
});

test('the newest open call is the current tool; all that began are counted, and the agent takes them with it', () => {
  const two = [
    event('tool.started', call('a')),
    event('tool.started', call('b', 'edit', 'x'.repeat(900)), 2),
  ];
  const during = counted(...two);
  expect(during.tool).toMatchObject({ name: 'edit', since: at(2), others: 1 });
  expect(during.tool?.what.length).toBe(200);
  expect(during.toolCalls).toBe(2);
  const after = counted(...two, event('tool.ended', { callId: 'b', tool: 'edit', ok: true, durationMs: 1 }));
  expect(after.tool).toMatchObject({ name: 'bash', others: 0 });
  expect(counted(...two, event('runtime.adapter.ran', { exitCode: 0, durationMs: 1 })).tool).toBeUndefined();
});

test('calls that never end take a bounded place', () => {
  const many = Array.from({ length: 1000 }, (_, index) => event('tool.started', call(`c${index}`)));
  expect(counted(...many)).toMatchObject({ toolCalls: 1000, tool: { others: 63 } });
});

test('answers of the model count instead of what the agent says of itself; an unknown price makes the cost unknown', () => {
  const said = event('worker.progress', {
    phase: 'agent',
    tokensIn: 900,
    tokensOut: 90,
    costUsd: 3,
    turns: 2,
  });
  expect(counted(said)).toMatchObject({ tokens: 990, costUsd: 3, turns: 2 });
  expect(counted(said, event('model.called', answer(9, 0.5)), said)).toMatchObject({
    tokens: 10,
    costUsd: 0.5,
  });
  const unknown = counted(event('model.called', answer(9, 0.5)), event('model.called', answer(9)));
  expect(unknown.tokens).toBe(20);
  expect(unknown.costUsd).toBeUndefined();
  const free = event('worker.progress', { phase: 'agent', tokensIn: 5, tokensOut: 0, costUsd: 0 });
  expect(counted(free).costUsd).toBeUndefined();
});

test('beats count the turns of an agent that reports its own at the end', () => {
  expect(counted(event('worker.heartbeat', beat(2)), event('worker.heartbeat', beat(1))).turns).toBe(3);
});

test('CPU is the share between two beats, and memory that of the last; a retry knows neither', () => {
  const used = (second: number, cpuMs: number, memoryBytes?: number) =>
    event(
      'worker.heartbeat',
      { counters: { ...beat(0).counters, cpuMs, ...(memoryBytes === undefined ? {} : { memoryBytes }) } },
      second,
    );
  const launched = event('attempt.launched', { handle: {}, nonce: 'n', workspace: {} }, 10);
  expect(counted(launched)).not.toHaveProperty('cpuPercent');
  expect(counted(launched, used(20, 5000, 1024))).toMatchObject({ cpuPercent: 50, memoryBytes: 1024 });
  expect(counted(launched, used(20, 5000, 1024), used(30, 20_000, 2048))).toMatchObject({
    cpuPercent: 150,
    memoryBytes: 2048,
  });
  expect(counted(launched, used(20, 5000), used(30, 1000))).toMatchObject({ cpuPercent: 10 });
  expect(counted(used(20, 5000))).not.toHaveProperty('cpuPercent');
});

test('a stall stays until something moves, and health is the last that was seen', () => {
  const stalled = event('run.stalled', { reason: 'in-tool', detail: 'in bash', silentMs: 9 }, 4);
  const ill = event('health.changed', { previous: 'healthy', current: 'stale' });
  const silent = event('worker.heartbeat', beat(0));
  expect(counted(stalled, ill, silent)).toMatchObject({
    health: 'stale',
    stall: { reason: 'in-tool', detail: 'in bash', since: at(4) },
  });
  expect(counted(stalled, event('agent.said', { text: 'on it' })).stall).toBeUndefined();
  expect(counted(stalled, event('worker.heartbeat', beat(1))).stall).toBeUndefined();
});

test('a retry adds what earlier attempts used', () => {
  const ended = event('attempt.ended', {
    failure: { reason: 'provider-failed', detail: 'x', retryable: true } as never,
    nextAttempt: 2,
    delayMs: 1,
    usage: {
      models: [],
      inputTokens: 100,
      outputTokens: 10,
      cacheReadTokens: 5,
      cacheWriteTokens: 5,
      turns: 3,
      toolCalls: 4,
      costUsd: 1,
    },
  });
  const waiting = counted(event('model.called', answer(9, 0.5)), event('tool.started', call('a')), ended);
  expect(waiting).toMatchObject({ phase: 'retrying', turns: 3, toolCalls: 4, tokens: 120, costUsd: 1 });
  expect(waiting.tool).toBeUndefined();
  const next = [event('model.called', answer(4, 0.25), 9, 2), event('tool.started', call('b'), 9, 2)];
  expect(counted(ended, ...next)).toMatchObject({ attempt: 2, toolCalls: 5, tokens: 125, costUsd: 1.25 });
});
