import { Question } from '@caisson/protocol';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Ledger } from '../contract.ts';
import { IdempotencyKeyTakenError, IllegalTransitionError } from '../errors.ts';
import { accepted, AT, fact, finished, launched, started } from '../fixtures/sample-events.ts';
import { everyRow } from './every-row.ts';
import type { OpenLedger } from './open-ledger.ts';

const SEAL = { envelopeRef: 'a'.repeat(64), manifestRef: 'b'.repeat(64), keyId: 'k' };

export function describeLives(open: OpenLedger): void {
  describe('the life of a run', () => {
    let ledger: Ledger;
    beforeEach(async () => {
      ledger = await open();
    });
    afterEach(() => ledger.close());

    test('goes from queued through running to done', async () => {
      await ledger.append([accepted('run_a')]);
      expect(ledger.run('run_a')?.status).toBe('queued');
      await ledger.append([launched('run_a', 1)]);
      expect(ledger.run('run_a')?.status).toBe('running');
      await ledger.append([started('run_a', 1), finished('run_a', 1)]);
      expect(ledger.run('run_a')).toEqual({
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
      const unsealed = (): string[] => ledger.runs({ unsealed: true }).map(({ runId }) => runId);
      await ledger.append([accepted('run_a'), accepted('run_b'), launched('run_b', 1)]);
      expect(unsealed()).toEqual([]);
      await ledger.append([finished('run_b', 1), finished('run_a', 0)]);
      expect(unsealed()).toEqual(['run_a', 'run_b']);
      await ledger.append([{ ...fact('run_a', SEAL), type }, fact('run_b')]);
      expect(unsealed()).toEqual(['run_b']);
      expect(ledger.run('run_a')?.unsealed).toBeUndefined();
      expect(ledger.verifyAll()).toMatchObject({ ok: true, problems: [] });
      ledger.rebuildProjections();
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
      await ledger.append([
        accepted('run_a'),
        { ...finished('run_a', 0), type, data: { durationMs: 1, ...data } },
      ]);
      expect(ledger.run('run_a')?.status).toBe(status);
      expect(ledger.runs({ status: 'queued' })).toEqual([]);
    });

    test('a retry is a new attempt and the old one stays as it was', async () => {
      const failure = { reason: 'crashed', detail: 'gone' };
      await ledger.append([accepted('run_a'), launched('run_a', 1), started('run_a', 1)]);
      await ledger.append([
        {
          ...fact('run_a', { failure, nextAttempt: 2, delayMs: 0, costUsd: 0.5 }),
          type: 'attempt.ended',
          attempt: 1,
        },
      ]);
      expect(ledger.run('run_a')?.status).toBe('queued');
      await ledger.append([launched('run_a', 2), started('run_a', 2), finished('run_a', 2)]);
      expect(ledger.attempts('run_a')).toEqual([
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
      expect(ledger.spend()).toEqual([
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
        },
      ]);
    });

    test('an unknown cost is never 0', async () => {
      const end = { ...finished('run_a', 0), data: { durationMs: 1 } };
      await ledger.append([accepted('run_a', { session: 'night' }), end]);
      expect(ledger.spend({ session: 'night' })[0]).toMatchObject({
        costUsd: null,
        unknownCosts: 1,
        tokens: 0,
      });
      expect(ledger.spend({ session: 'day' })).toEqual([]);
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
      await ledger.append(before);
      await expect(ledger.append([fact('run_a'), event])).rejects.toThrow(IllegalTransitionError);
      expect(ledger.lastOffset()).toBe(before.length);
      await expect(ledger.append([...before.slice(0, 0), fact('run_a')])).resolves.toHaveLength(1);
    });

    test('of many endings at once exactly one is recorded', async () => {
      await ledger.append([accepted('run_a')]);
      const settled = await Promise.allSettled(
        Array.from({ length: 20 }, () => ledger.append([finished('run_a', 0)])),
      );
      expect(settled.filter((call) => call.status === 'fulfilled').length).toBe(1);
    });

    test('other facts may follow the ending and the seal moves along', async () => {
      await ledger.append([
        accepted('run_a'),
        finished('run_a', 0),
        { ...fact('run_a'), type: 'callback.delivered' },
      ]);
      expect(ledger.verifyRun('run_a')).toMatchObject({ ok: true, sealed: true, count: 3, problems: [] });
      expect(ledger.read({ runId: 'run_a' }).length).toBe(3);
    });

    test('an idempotency key belongs to the run that was accepted first', async () => {
      await ledger.append([accepted('run_a', { idempotencyKey: 'k' })]);
      const second = ledger.append([accepted('run_b', { idempotencyKey: 'k' })]);
      await expect(second).rejects.toThrow(IdempotencyKeyTakenError);
      await expect(second).rejects.toMatchObject({ runId: 'run_a' });
      expect(ledger.runs({ idempotencyKey: 'k' }).map((run) => run.runId)).toEqual(['run_a']);
    });

    test('a question is asked, listed and answered', async () => {
      await ledger.append([accepted('run_a'), question('asked')]);
      expect(ledger.questions({ status: 'open' })).toEqual([
        {
          questionId: 'q_1',
          runId: 'run_a',
          attempt: 0,
          status: 'open',
          text: 'red or blue?',
          options: ['red', 'blue'],
          askedAt: AT,
          askedOffset: 2,
        },
      ]);
      await ledger.append([{ ...finished('run_a', 0), type: 'dispatch.needs_input' }, question('answered')]);
      expect(ledger.question('q_1')).toMatchObject({ status: 'answered', answer: 'blue', closedAt: AT });
      expect(ledger.questions({ status: 'open' })).toEqual([]);
      expect(ledger.questions({ runId: 'run_a' }).length).toBe(1);
      expect(ledger.run('run_a')).toMatchObject({ status: 'answered', continuedBy: 'run_b' });
      expect(Question.parse(ledger.question('q_1'))).toEqual(ledger.question('q_1'));
    });

    test('lists runs by session, by status and newest first', async () => {
      await ledger.append([
        accepted('run_a', { session: 's' }),
        accepted('run_b'),
        accepted('run_c', { session: 's' }),
      ]);
      expect(ledger.runs({ session: 's', newestFirst: true }).map((run) => run.runId)).toEqual([
        'run_c',
        'run_a',
      ]);
      expect(ledger.runs({ status: ['queued', 'running'], limit: 2 }).map((run) => run.runId)).toEqual([
        'run_a',
        'run_b',
      ]);
      expect(ledger.run('run_x')).toBeNull();
    });

    test('projections are rebuilt from events alone, and are then the same', async () => {
      await appendSomeLives(ledger);
      const before = everyRow(ledger);
      ledger.rebuildProjections();
      expect(everyRow(ledger)).toEqual(before);
      expect(ledger.verifyAll()).toMatchObject({ ok: true, problems: [] });
    });
  });
}

async function appendSomeLives(ledger: Ledger): Promise<void> {
  await ledger.append([
    accepted('run_a', { session: 's', idempotencyKey: 'k' }),
    launched('run_a', 1),
    started('run_a', 1),
  ]);
  await ledger.append([
    question('asked'),
    { ...finished('run_a', 1), type: 'dispatch.needs_input' },
    question('answered'),
  ]);
  await ledger.append([
    accepted('run_b', { continues: 'run_a' }),
    fact('run_b'),
    finished('run_b', 0),
    fact(null),
  ]);
  await ledger.append([accepted('run_c')]);
}

function question(what: 'asked' | 'answered' | 'expired') {
  const data =
    what === 'asked'
      ? { text: 'red or blue?', options: ['red', 'blue'] }
      : { answer: 'blue', continuedBy: 'run_b' };
  return { ...fact('run_a', { questionId: 'q_1', ...data }), type: `question.${what}`, attempt: 0 };
}
