import { describe, expect, test } from 'vitest';
import { definedOnly, type DataOf, type EventType } from '@caisson/protocol';
import type { StoredEvent } from '../ledger/index.ts';
import { isComplete, spansOfRun } from './spans-of-run.ts';

const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const BEGIN_MS = Date.parse('2026-11-18T00:00:00.000Z');

type Step = { [T in EventType]: [type: T, data: Partial<DataOf<T>>, atMs: number] }[EventType];

/** Events of one run, in order, so many milliseconds after its acceptance. */
function recordRun(steps: readonly Step[], trace = TRACE): StoredEvent[] {
  return steps.map(
    ([type, data, ms], index) =>
      ({
        ...{ id: `e${index}`, runId: 'run_1', attempt: 1, seq: index + 1, offset: index + 1, version: 1 },
        ...{ type, data, trace, at: new Date(BEGIN_MS + ms).toISOString(), prevHash: '', hash: '' },
      }) as unknown as StoredEvent,
  );
}

const accepted = [
  'dispatch.accepted',
  {
    task: { id: 'task-1', description: 'a secret plan', priority: 5 },
    runtime: 'codex',
    resolved: { capabilities: [], env: [], model: { requested: 'gpt-5', served: [] } },
  },
  0,
] satisfies Step;
const finished: Step = ['dispatch.finished', { durationMs: 90 }, 100];

describe('the spans of a run', () => {
  test('are the same whenever they are made from the same events', () => {
    const events = recordRun([
      accepted,
      ['tool.started', { callId: 'a', tool: 'shell', what: 'rm -rf build' }, 10],
      ['tool.ended', { callId: 'a', tool: 'shell', ok: true, durationMs: 5 }, 15],
      finished,
    ]);
    expect(spansOfRun(structuredClone(events))).toEqual(spansOfRun(events));
  });

  test('name the task and never what it says or does', () => {
    const events = recordRun([
      accepted,
      ['tool.started', { callId: 'a', tool: 'shell', what: 'rm -rf build' }, 10],
      finished,
    ]);
    const spans = spansOfRun(events);
    expect(spans[0]?.attributes).toMatchObject({ taskId: 'task-1', agentId: 'codex' });
    expect(JSON.stringify(spans)).not.toMatch(/secret plan|rm -rf/);
  });

  test('stay inside of their run, and a call without an end lasts as long as it', () => {
    const call = { model: 'gpt-5', outcome: 'answered' as const };
    const tokens = { input: 1, output: 2, cacheRead: 0, cacheWrite: 0 };
    const spans = spansOfRun(
      recordRun([
        accepted,
        ['model.called', { ...call, tokens, durationMs: 5000 }, 20],
        ['tool.started', { callId: 'a', tool: 'shell', what: 'x' }, 30],
        finished,
      ]),
    );
    expect(spans.slice(1).map(({ startMs, endMs }) => [startMs - BEGIN_MS, endMs - BEGIN_MS])).toEqual([
      [0, 20],
      [30, 100],
    ]);
    expect(spans[2]?.attributes).toMatchObject({ 'caisson.unfinished': true });
  });

  test.each([
    ['anthropic-messages', { 'gen_ai.provider.name': 'anthropic' }],
    ['openai-responses', { 'gen_ai.provider.name': 'openai' }],
    ['openai-chat', { 'gen_ai.provider.name': 'openai' }],
    ['gemini', { 'gen_ai.provider.name': 'gcp.gemini' }],
    ['none', {}],
    [undefined, {}],
  ] as const)('describe a call by the conventions; in the format %s', (api, provider) => {
    const tokens = { input: 1, output: 2, cacheRead: 3, cacheWrite: 4 };
    const call = { model: 'm', tokens, durationMs: 5, outcome: 'answered' as const, ...definedOnly({ api }) };
    const [, span] = spansOfRun(recordRun([accepted, ['model.called', call, 20], finished]));
    expect([span?.name, span?.kind, span?.attributes]).toEqual([
      'chat m',
      'client',
      {
        ...provider,
        'gen_ai.operation.name': 'chat',
        'gen_ai.request.model': 'm',
        'gen_ai.usage.input_tokens': 1,
        'gen_ai.usage.output_tokens': 2,
        'gen_ai.usage.cache_read.input_tokens': 3,
        'gen_ai.usage.cache_creation.input_tokens': 4,
        'caisson.outcome': 'answered',
      },
    ]);
  });

  test('pair calls that an agent gave the same id in their order', () => {
    const start = (atMs: number): Step => ['tool.started', { callId: 'a', tool: 'shell', what: 'x' }, atMs];
    const end = (ok: boolean, atMs: number): Step => [
      'tool.ended',
      { callId: 'a', tool: 'shell', ok, durationMs: 1 },
      atMs,
    ];
    const spans = spansOfRun(
      recordRun([accepted, start(10), end(true, 20), start(30), end(false, 40), finished]),
    );
    expect(spans.slice(1).map(({ endMs, error }) => [endMs - BEGIN_MS, error !== undefined])).toEqual([
      [20, false],
      [40, true],
    ]);
  });

  test('show what the run waited for', () => {
    const deadlineAt = '2026-11-18T00:05:00.000Z';
    const asked = { approvalId: 'ap1', tool: 'shell', what: 'x', actionClass: 'git_push', deadlineAt };
    const spans = spansOfRun(
      recordRun([
        accepted,
        ['run.queued', { position: 1, limit: 2 }, 1],
        ['attempt.launched', { nonce: 'n', handle: {}, workspace: {} }, 20],
        ['approval.requested', asked, 30],
        ['approval.decided', { approvalId: 'ap1', decision: 'deny', by: 'user' }, 60],
        finished,
      ]),
    );
    expect(spans.slice(1).map(({ name, startMs, endMs }) => [name, endMs - startMs])).toEqual([
      ['wait queue', 19],
      ['wait approval', 30],
    ]);
  });

  test('end a wait for a slot when the base begins to be fetched, or the run ends without one', () => {
    const queued: Step = ['run.queued', { position: 1, limit: 2 }, 1];
    const base = { remote: '/srv/r.git', ref: 'refs/heads/main', commit: 'c' };
    const fetched: Step = ['repository.fetched', { ...base, ms: 50 }, 70];
    const launched: Step = ['attempt.launched', { nonce: 'n', handle: {}, workspace: {} }, 80];
    const ends = [[fetched, launched], []].map((steps) => {
      const [, wait] = spansOfRun(recordRun([accepted, queued, ...steps, finished]));
      return (wait?.endMs ?? 0) - BEGIN_MS;
    });
    expect(ends).toEqual([20, 100]);
  });

  test('end with their attempt where nothing else ended them, and not with the push', () => {
    const failure = { reason: 'crashed' as const, detail: 'd' };
    const tool = (callId: string, ms: number): Step => [
      'tool.started',
      { callId, tool: 'sh', what: 'x' },
      ms,
    ];
    const deadlineAt = '2026-11-18T00:05:00.000Z';
    const asked = { approvalId: 'ap1', tool: 'sh', what: 'x', actionClass: 'git_push', deadlineAt };
    const [type, data, atMs] = accepted;
    const branch = { name: 'work', commit: 'c', status: 'created' as const };
    const [, ...spans] = spansOfRun(
      recordRun([
        [type, { ...data, repository: { remote: 'file:///r', push: true } }, atMs],
        tool('a', 10),
        ['attempt.ended', { failure, nextAttempt: 2, delayMs: 1 }, 30],
        tool('b', 50),
        ['approval.requested', asked, 60],
        ['dispatch.finished', { durationMs: 90, branch }, 100],
        ['branch.pushed', { remote: 'file:///r', branch: 'work', commit: 'c' }, 250],
      ]),
    );
    const times = spans.map(({ name, startMs, endMs }) => [name, startMs - BEGIN_MS, endMs - BEGIN_MS]);
    expect(times).toEqual([
      ['wait approval', 60, 100],
      ['execute_tool sh', 10, 30],
      ['execute_tool sh', 50, 100],
    ]);
  });

  test('carry the failure of their run', () => {
    const failure = { reason: 'timeout' as const, detail: 'the deadline passed' };
    const [root] = spansOfRun(recordRun([accepted, ['dispatch.failed', { durationMs: 9, failure }, 10]]));
    expect(root).toMatchObject({ error: 'timeout', attributes: { status: 'timeout' } });
  });

  test.each([
    ['has not ended', recordRun([accepted])],
    ['is not sampled', recordRun([accepted, finished], TRACE.replace(/01$/, '00'))],
    ['has no trace', recordRun([accepted, finished], '')],
  ])('are none where the run %s', (_, events) => {
    expect(spansOfRun(events)).toEqual([]);
  });

  test('wait for the push of a branch, which is their last moment', () => {
    const [type, data, atMs] = accepted;
    const withPush: Step = [type, { ...data, repository: { remote: 'file:///r', push: true } }, atMs];
    const branch = { name: 'work', commit: 'c', status: 'created' as const };
    const end: Step = ['dispatch.finished', { durationMs: 90, branch }, 100];
    const before = [withPush, end];
    const pushed: Step = ['branch.pushed', { remote: 'file:///r', branch: 'work', commit: 'c' }, 250];
    expect([isComplete(recordRun(before)), isComplete(recordRun([...before, pushed]))]).toEqual([
      false,
      true,
    ]);
    expect(spansOfRun(recordRun([...before, pushed]))[0]).toMatchObject({
      endMs: BEGIN_MS + 250,
      events: [{ name: 'sandbox.pushed', atMs: BEGIN_MS + 250 }],
    });
  });
});
