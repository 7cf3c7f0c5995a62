import { describe, expect, test } from 'vitest';
import { IllegalTransitionError } from '../errors.ts';
import {
  accepted,
  AT,
  fact,
  finished,
  launched,
  question,
  started,
  usageOf,
} from '../fixtures/sample-events.ts';
import { useLedger, type LedgerAtHand, type OpenLedger } from './open-ledger.ts';
import { describeBranches } from './branches.ts';
import { describeListings, describeRebuilding } from './listings.ts';

const SEAL = { envelopeRef: 'a'.repeat(64), manifestRef: 'b'.repeat(64), keyId: 'k' };

export function describeLives(open: OpenLedger): void {
  describe('the life of a run', () => {
    const at = useLedger(open);
    describeStatuses(at);
    describeBranches(at);
    describeAfterwards(at);
    describeAttempts(at);
    describeSpending(at);
    describeMoves(at);
    describeListings(at);
    describeRebuilding(at);
  });
}

function describeStatuses(at: LedgerAtHand): void {
  test('goes from queued over running to done', async () => {
    await at.ledger.append([accepted('run_a')]);
    expect(at.ledger.run('run_a')?.status).toBe('queued');
    await at.ledger.append([launched('run_a', 1)]);
    expect(at.ledger.run('run_a')?.status).toBe('running');
    await at.ledger.append([started('run_a', 1), finished('run_a', 1)]);
    expect(at.ledger.run('run_a')).toEqual({
      runId: 'run_a',
      status: 'done',
      priority: 5,
      acceptedOffset: 1,
      acceptedAt: AT,
      startedAt: AT,
      endedAt: AT,
      attempt: 1,
      lastSeq: 4,
      host: 'host_1',
      description: 'count the beans',
      runtime: 'command',
      ending: 'dispatch.finished',
      durationMs: 12,
      costUsd: 0.25,
      unsealed: true,
    });
  });

  test.each(['evidence.sealed', 'run.forgotten'])('it is unsealed from its ending to %s', async (type) => {
    const unsealed = (): string[] => at.ledger.runs({ unsealed: true }).map(({ runId }) => runId);
    await at.ledger.append([accepted('run_a'), accepted('run_b'), launched('run_b', 1)]);
    expect(unsealed()).toEqual([]);
    await at.ledger.append([finished('run_b', 1), finished('run_a', 0)]);
    expect(unsealed()).toEqual(['run_a', 'run_b']);
    expect(at.ledger.runs({ unsealed: true, limit: 1, after: 'run_a' })).toMatchObject([{ runId: 'run_b' }]);
    await at.ledger.append([{ ...fact('run_a', SEAL), type }, fact('run_b')]);
    expect(unsealed()).toEqual(['run_b']);
    expect(at.ledger.run('run_a')?.unsealed).toBeUndefined();
    expect(at.ledger.verifyAll()).toMatchObject({ ok: true, problems: [] });
    at.ledger.rebuildProjections();
    expect(unsealed()).toEqual(['run_b']);
  });

  test.each([
    ['dispatch.needs_input', { questionId: 'q_1' }, 'waiting'],
    ['dispatch.cancelled', { cause: 'user' }, 'cancelled'],
    ['dispatch.cancelled', { cause: 'shutdown' }, 'interrupted'],
    ['dispatch.failed', { failure: { reason: 'timeout', detail: '' } }, 'timeout'],
    ['dispatch.failed', { failure: { reason: 'budget-exceeded', detail: '' } }, 'budget_exceeded'],
    ['dispatch.failed', { failure: { reason: 'lost', detail: '' } }, 'interrupted'],
    ['dispatch.failed', { failure: { reason: 'crashed', detail: '' } }, 'error'],
  ])('%s with %o ends it as %s', async (type, data, status) => {
    await at.ledger.append([
      accepted('run_a'),
      { ...finished('run_a', 0), type, data: { durationMs: 1, ...data } },
    ]);
    expect(at.ledger.run('run_a')?.status).toBe(status);
    expect(at.ledger.runs({ status: 'queued' })).toEqual([]);
  });
}

function describeAfterwards(at: LedgerAtHand): void {
  test('it says when its work was taken, whether conflicts were left, and when it was forgotten', async () => {
    const applied = (hasConflicts: boolean, at: string) => ({
      ...fact('run_a', { files: 1, hasConflicts }),
      type: 'run.applied',
      attempt: 0,
      at,
    });
    const forgotten = { ...fact('run_a'), type: 'run.forgotten', attempt: 0, at: '2026-01-05T00:00:00.000Z' };
    const taken = () => {
      const { appliedAt, appliedWithConflicts, forgottenAt } = at.ledger.run('run_a') ?? {};
      return { appliedAt, appliedWithConflicts, forgottenAt };
    };
    await at.ledger.append([accepted('run_a'), finished('run_a', 0)]);
    expect(taken()).toEqual({});
    await at.ledger.append([applied(true, '2026-01-03T00:00:00.000Z')]);
    expect(taken()).toEqual({ appliedAt: '2026-01-03T00:00:00.000Z', appliedWithConflicts: true });
    await at.ledger.append([applied(false, '2026-01-04T00:00:00.000Z'), forgotten]);
    const before = { appliedAt: '2026-01-04T00:00:00.000Z', forgottenAt: '2026-01-05T00:00:00.000Z' };
    expect(taken()).toEqual(before);
    at.ledger.rebuildProjections();
    expect(taken()).toEqual(before);
    expect(at.ledger.verifyAll()).toMatchObject({ ok: true, problems: [] });
  });
}

function describeAttempts(at: LedgerAtHand): void {
  test('a retry is a new attempt and the old one stays as it was', async () => {
    const failure = { reason: 'crashed', detail: 'gone' };
    await at.ledger.append([accepted('run_a'), launched('run_a', 1), started('run_a', 1)]);
    await at.ledger.append([
      {
        ...fact('run_a', { failure, nextAttempt: 2, delayMs: 0, costUsd: 0.5 }),
        type: 'attempt.ended',
        attempt: 1,
      },
    ]);
    expect(at.ledger.run('run_a')?.status).toBe('queued');
    await at.ledger.append([launched('run_a', 2), started('run_a', 2), finished('run_a', 2)]);
    expect(at.ledger.attempts('run_a')).toEqual([
      {
        runId: 'run_a',
        attempt: 1,
        launchedAt: AT,
        handle: { pid: 1 },
        startedAt: AT,
        endedAt: AT,
        ending: 'attempt.ended',
        failure,
      },
      {
        runId: 'run_a',
        attempt: 2,
        launchedAt: AT,
        handle: { pid: 2 },
        startedAt: AT,
        endedAt: AT,
        ending: 'dispatch.finished',
      },
    ]);
    expect(at.ledger.spend()).toEqual([
      {
        runId: 'run_a',
        session: null,
        day: '2026-01-02',
        costUsd: 0.75,
        unknownCosts: 0,
        inputTokens: 10,
        outputTokens: 4,
        tokens: 14,
        cacheTokens: 0,
        turns: 0,
        toolCalls: 0,
        runtime: 'command',
      },
    ]);
  });
}

function describeSpending(at: LedgerAtHand): void {
  test('spending names the agent, the runtime and every model of all attempts', async () => {
    const ended = { failure: { reason: 'crashed', detail: '' }, nextAttempt: 2, delayMs: 0 };
    await at.ledger.append([
      accepted('run_a', { agent: 'fixer', runtime: 'codex' }),
      launched('run_a', 1),
      { ...fact('run_a', { ...ended, usage: usageOf('z', 'b') }), type: 'attempt.ended' },
      { ...finished('run_a', 1), data: { durationMs: 1, usage: usageOf('b', 'a') } },
    ]);
    expect(at.ledger.spend()).toMatchObject([{ agent: 'fixer', runtime: 'codex', models: ['a', 'b', 'z'] }]);
  });

  test('spending comes in pages, from either end', async () => {
    for (const runId of ['run_a', 'run_b'])
      await at.ledger.append([accepted(runId, { session: 'night' }), finished(runId, 0)]);
    const page = { session: 'night', after: 'run_a', limit: 5 };
    expect(at.ledger.spend(page).map(({ runId }) => runId)).toEqual(['run_b']);
    expect(at.ledger.spend({ limit: 1 }).map(({ runId }) => runId)).toEqual(['run_a']);
    const newest = { newestFirst: true, limit: 1 };
    expect(at.ledger.spend(newest).map(({ runId }) => runId)).toEqual(['run_b']);
    expect(at.ledger.spend({ ...newest, after: 'run_b' }).map(({ runId }) => runId)).toEqual(['run_a']);
  });
}

function describeMoves(at: LedgerAtHand): void {
  test('an unknown cost is never 0', async () => {
    const end = { ...finished('run_a', 0), data: { durationMs: 1 } };
    await at.ledger.append([accepted('run_a', { session: 'night' }), end]);
    expect(at.ledger.spend({ session: 'night' })[0]).toMatchObject({
      costUsd: null,
      unknownCosts: 1,
      tokens: 0,
    });
    expect(at.ledger.spend({ session: 'day' })).toEqual([]);
  });

  const illegal: [string, ReturnType<typeof fact>[], ReturnType<typeof fact>][] = [
    ['a second acceptance', [accepted('run_a')], accepted('run_a')],
    ['a start before acceptance', [], started('run_a')],
    ['an ending before acceptance', [], finished('run_a')],
    [
      'a second ending',
      [accepted('run_a'), finished('run_a', 0)],
      { ...finished('run_a', 0), type: 'dispatch.failed' },
    ],
    ['a start after the ending', [accepted('run_a'), finished('run_a', 0)], started('run_a')],
    ['a launch after the ending', [accepted('run_a'), finished('run_a', 0)], launched('run_a', 1)],
    ['a second start of one attempt', [accepted('run_a'), started('run_a')], started('run_a')],
    ['a second launch of one attempt', [accepted('run_a'), launched('run_a', 1)], launched('run_a', 1)],
    [
      'an ending by an attempt that was replaced',
      [accepted('run_a'), launched('run_a', 2)],
      finished('run_a', 1),
    ],
    ['a start without an attempt', [accepted('run_a')], { ...started('run_a'), attempt: 0 }],
    ['an acceptance without a run', [], accepted(null)],
    ['an answer to a question that was not asked', [accepted('run_a')], question('answered')],
    ['a second answer', [accepted('run_a'), question('asked'), question('answered')], question('answered')],
    [
      'an answer after the deadline',
      [accepted('run_a'), question('asked'), question('expired')],
      question('answered'),
    ],
  ];
  test.each(illegal)('refuses %s', async (_what, before, event) => {
    await at.ledger.append(before);
    await expect(at.ledger.append([fact('run_a'), event])).rejects.toThrow(IllegalTransitionError);
    expect(at.ledger.lastOffset()).toBe(before.length);
    await expect(at.ledger.append([...before.slice(0, 0), fact('run_a')])).resolves.toHaveLength(1);
  });

  test('of many endings at once exactly one is recorded', async () => {
    await at.ledger.append([accepted('run_a')]);
    const settled = await Promise.allSettled(
      Array.from({ length: 20 }, () => at.ledger.append([finished('run_a', 0)])),
    );
    expect(settled.filter((call) => call.status === 'fulfilled').length).toBe(1);
  });
}
