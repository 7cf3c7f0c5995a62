import { createManualClock } from '@caisson/ground';
import { expect, test } from 'vitest';
import { SAMPLE_DATA } from '../../../protocol/src/fixtures/sample-events.ts';
import { createMemoryLedger, createRecorder } from '../ledger/index.ts';
import { createQueueWatch } from './queue-watch.ts';

const POOL = 'runs';
const RUNS = ['a', 'b', 'c'].map((name) => `run_${name.padStart(20, '0')}`);

/** Three runs that wait in a real ledger, and the names of those that were woken. */
async function openQueue() {
  const clock = createManualClock();
  const ledger = createMemoryLedger();
  const recorder = createRecorder({ ledger, clock });
  const data = { ...SAMPLE_DATA['dispatch.accepted'], pool: POOL };
  for (const runId of RUNS) {
    const { idempotencyKey: _one, ...rest } = data;
    await recorder.of(runId).append('dispatch.accepted', rest, { attempt: 0 });
  }
  let looks = 0;
  const leases: typeof ledger.leases = {
    ...ledger.leases,
    findHead(pool, nowMs) {
      looks += 1;
      return ledger.leases.findHead(pool, nowMs);
    },
  };
  const awaitTurn = createQueueWatch({ ledger: { ...ledger, leases }, clock });
  const woken: string[] = [];
  const wait = (runId: string, signal = new AbortController().signal): Promise<void> =>
    awaitTurn({ pool: POOL, runId }, signal).then(() => void woken.push(runId));
  const commit = (): Promise<unknown> =>
    recorder.of(null).append('warning', { source: 'test', message: 'a commit' }, { attempt: 0 });
  return { clock, ledger, wait, woken, commit, looks: () => looks };
}

test('a commit wakes the head of the queue and nobody else, and the queue is looked at once', async () => {
  const { wait, woken, commit, looks } = await openQueue();
  const [first = '', second = '', third = ''] = RUNS;
  const others = [wait(third), wait(second)];
  const head = wait(first);
  await commit();
  await head;
  expect([woken, looks()]).toEqual([[first], 1]);
  void others;
});

test('the first of those who wait is woken once in a second, to look for dead hosts', async () => {
  const { clock, wait, woken } = await openQueue();
  const [, second = '', third = ''] = RUNS;
  const waiting = wait(third);
  void wait(second);
  for (let count = 0; count < 4; count += 1) {
    clock.advance(250);
    await new Promise(setImmediate);
  }
  await waiting;
  expect(woken).toEqual([third]);
});

test('a wait that is aborted ends, and a later one is woken all the same', async () => {
  const { wait, woken, commit } = await openQueue();
  const [first = '', second = ''] = RUNS;
  const abort = new AbortController();
  const aborted = wait(second, abort.signal);
  abort.abort();
  await aborted;
  const head = wait(first);
  await commit();
  await head;
  expect(woken).toEqual([second, first]);
});
