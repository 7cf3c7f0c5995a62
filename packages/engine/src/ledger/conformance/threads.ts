import { ThreadRow, type ThreadStatus } from '@caisson/protocol';
import { describe, expect, test } from 'vitest';
import type { NewEvent } from '../contract.ts';
import { IllegalTransitionError } from '../errors.ts';
import { accepted, AT, fact } from '../fixtures/sample-events.ts';
import {
  asked,
  THREAD,
  threadAccepted,
  threadEnded,
  threadMessage,
  threadStarted,
  stepEnded,
  stepStarted,
} from '../fixtures/sample-threads.ts';
import { everyRow } from './every-row.ts';
import { useLedger, type LedgerAtHand, type OpenLedger } from './open-ledger.ts';

export function describeThreads(open: OpenLedger): void {
  describe('the life of a thread', () => {
    const at = useLedger(open);
    describeStatuses(at);
    describePauses(at);
    describeMoves(at);
    describeLists(at);
  });
}

function describeStatuses(at: LedgerAtHand): void {
  test('goes from queued over running and waiting to its ending', async () => {
    const status = () => at.ledger.thread(THREAD)?.status;
    await at.ledger.append([threadAccepted()]);
    expect(status()).toBe('queued');
    await at.ledger.append([threadStarted()]);
    expect(status()).toBe('running');
    await at.ledger.append([stepStarted(0, 0, { kind: 'wait', runIds: ['run_a'] })]);
    expect(status()).toBe('waiting');
    expect(at.ledger.thread(THREAD)?.waitsFor).toEqual([{ ordinal: 0, kind: 'wait', runIds: ['run_a'] }]);
    await at.ledger.append([stepEnded(0, 0), threadMessage(0)]);
    expect(status()).toBe('running');
    await at.ledger.append([threadEnded({ status: 'failed', detail: 'it threw' })]);
    const row: ThreadRow = {
      threadId: THREAD,
      workflow: 'fix',
      status: 'failed',
      trigger: { kind: 'user' },
      acceptedAt: AT,
      acceptedOffset: 1,
      startedAt: AT,
      endedAt: AT,
      rounds: 1,
      maxRounds: 50,
      timeoutMs: 1000,
      lastRole: 'fixer',
      detail: 'it threw',
    };
    expect(at.ledger.thread(THREAD)).toEqual(row);
    expect(ThreadRow.parse(at.ledger.thread(THREAD))).toEqual(row);
    expect(at.ledger.verifyRun(THREAD)).toMatchObject({ ok: true, isEnded: true, count: 6 });
  });

  test('its question is listed, answered and closed like that of a run', async () => {
    await at.ledger.append([threadAccepted(), threadStarted(), asked('asked')]);
    expect(at.ledger.questions({ status: 'open' })).toMatchObject([{ questionId: 'q_t', runId: THREAD }]);
    await at.ledger.append([asked('answered')]);
    expect(at.ledger.question('q_t')).toMatchObject({ status: 'answered', answer: 'blue' });
    expect(at.ledger.runs()).toEqual([]);
  });
}

function describePauses(at: LedgerAtHand): void {
  test('time asleep, or while a person is asked, is counted apart', async () => {
    const later = (seconds: number) => ({ at: new Date(Date.parse(AT) + seconds * 1000).toISOString() });
    await at.ledger.append([threadAccepted(), threadStarted()]);
    await at.ledger.append([{ ...stepStarted(0, 0, { kind: 'sleep', until: AT }), ...later(1) }]);
    await at.ledger.append([{ ...stepStarted(0, 1, { kind: 'ask', questionId: 'q' }), ...later(2) }]);
    await at.ledger.append([{ ...stepEnded(0, 0), ...later(4) }]);
    expect(at.ledger.thread(THREAD)).toMatchObject({ pausedSince: later(1).at });
    await at.ledger.append([{ ...stepEnded(0, 1), ...later(6) }]);
    expect(at.ledger.thread(THREAD)).toMatchObject({ pausedMs: 5000, status: 'running' });
    expect(at.ledger.thread(THREAD)?.pausedSince).toBeUndefined();
  });

  test('the own work of a role counts, also while it sleeps', async () => {
    const later = (seconds: number) => ({ at: new Date(Date.parse(AT) + seconds * 1000).toISOString() });
    await at.ledger.append([threadAccepted(), threadStarted()]);
    await at.ledger.append([{ ...stepStarted(0, 0, { kind: 'sleep', until: AT }), ...later(1) }]);
    await at.ledger.append([{ ...stepStarted(0, 1, { kind: 'value' }), ...later(2) }]);
    expect(at.ledger.thread(THREAD)).toMatchObject({ pausedMs: 1000, status: 'running' });
    expect(at.ledger.thread(THREAD)?.pausedSince).toBeUndefined();
    await at.ledger.append([{ ...stepEnded(0, 1), ...later(6) }]);
    await at.ledger.append([{ ...stepEnded(0, 0), ...later(8) }]);
    expect(at.ledger.thread(THREAD)).toMatchObject({ pausedMs: 3000, status: 'running' });
  });
}

function describeMoves(at: LedgerAtHand): void {
  const begun = [threadAccepted(), threadStarted()];
  const illegal: [string, NewEvent[], NewEvent][] = [
    ['a second acceptance', [threadAccepted()], threadAccepted()],
    ['a start before acceptance', [], threadStarted()],
    ['a second start', begun, threadStarted()],
    ['a message before the start', [threadAccepted()], threadMessage(0)],
    ['a message of a later round', begun, threadMessage(1)],
    ['a second message of a round', [...begun, threadMessage(0)], threadMessage(0)],
    ['a step of an earlier round', [...begun, threadMessage(0)], stepStarted(0, 0)],
    ['a second start of a step', [...begun, stepStarted(0, 0)], stepStarted(0, 0)],
    [
      'a second start of an earlier step',
      [...begun, stepStarted(0, 3), stepStarted(0, 2)],
      stepStarted(0, 2),
    ],
    ['the end of a step that did not start', begun, stepEnded(0, 0)],
    ['a second end of a step', [...begun, stepStarted(0, 0), stepEnded(0, 0)], stepEnded(0, 0)],
    ['a second ending', [...begun, threadEnded()], threadEnded()],
    ['a step after the ending', [...begun, threadEnded()], stepStarted(0, 0)],
    ['a question after the ending', [...begun, threadEnded()], asked('asked')],
    ['an acceptance in the stream of a run', [accepted('run_a')], { ...threadAccepted(), runId: 'run_a' }],
    ['an acceptance of a run in its stream', [threadAccepted()], accepted(THREAD)],
  ];
  test.each(illegal)('refuses %s', async (_what, before, event) => {
    await at.ledger.append(before);
    await expect(at.ledger.append([fact(null), event])).rejects.toThrow(IllegalTransitionError);
    expect(at.ledger.lastOffset()).toBe(before.length);
  });

  test('of many endings at once exactly one is recorded', async () => {
    await at.ledger.append(begun);
    const settled = await Promise.allSettled(
      Array.from({ length: 20 }, () => at.ledger.append([threadEnded()])),
    );
    expect(settled.filter((call) => call.status === 'fulfilled').length).toBe(1);
  });
}

function describeLists(at: LedgerAtHand): void {
  test('threads are listed by workflow and status, a page at a time, and rebuilt from events alone', async () => {
    const id = (index: number) => `thread_${String(index).padStart(20, '0')}`;
    for (let index = 0; index < 9; index += 1) {
      const workflow = index % 3 === 0 ? 'review' : 'fix';
      const events = [threadAccepted({ workflow }), threadStarted(), threadEnded()].slice(0, 1 + (index % 3));
      await at.ledger.append(events.map((event) => ({ ...event, runId: id(index) })));
    }
    const ids = (filter: Parameters<typeof at.ledger.threads>[0]) =>
      at.ledger.threads(filter).map(({ threadId }) => Number(threadId.slice(-1)));
    const living: ThreadStatus[] = ['queued', 'running', 'waiting'];
    expect(ids({})).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
    expect(ids({ status: living, limit: 3 })).toEqual([0, 1, 3]);
    expect(ids({ status: living, limit: 3, after: id(3) })).toEqual([4, 6, 7]);
    expect(ids({ workflow: 'fix', status: 'done' })).toEqual([2, 5, 8]);
    expect(ids({ workflow: 'fix', newestFirst: true, limit: 2, after: id(7) })).toEqual([5, 4]);
    expect(ids({ status: [] })).toEqual([]);
    expect(ids({ after: 'thread_x' })).toEqual([]);
    const before = everyRow(at.ledger);
    at.ledger.rebuildProjections();
    expect(everyRow(at.ledger)).toEqual(before);
    expect(at.ledger.verifyAll()).toMatchObject({ ok: true, problems: [], runs: 0 });
  });
}
