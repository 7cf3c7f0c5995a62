import { systemClock } from '@caisson/ground';
import { expect, test, vi } from 'vitest';
import { SAMPLE_DATA } from '../../../protocol/src/fixtures/sample-events.ts';
import { createMemoryLedger, createRecorder, type Ledger } from '../ledger/index.ts';
import { findCheckPassed, findDoneWork } from './find-check-passed.ts';

const RUN = 'run_00000000000000000001';

/** A run whose check failed, with many events before its ending and some behind it. */
async function stage(before: number, behind: number): Promise<Ledger> {
  const ledger = createMemoryLedger();
  const record = createRecorder({ ledger, clock: systemClock }).of(RUN);
  await record.append('dispatch.accepted', SAMPLE_DATA['dispatch.accepted'], { attempt: 0 });
  await record.append('dispatch.started', SAMPLE_DATA['dispatch.started'], { attempt: 1 });
  const add = async (count: number): Promise<void> => {
    for (let index = 0; index < count; index += 1)
      await record.append('tool.started', SAMPLE_DATA['tool.started'], { attempt: 1 });
  };
  await add(before);
  const finished = { ...SAMPLE_DATA['dispatch.finished'], checkPassed: false };
  await record.append('dispatch.finished', finished, { attempt: 1 });
  for (let index = 0; index < behind; index += 1)
    await record.append('evidence.sealed', SAMPLE_DATA['evidence.sealed'], { attempt: 1 });
  return ledger;
}

const rowOf = (ledger: Ledger) => {
  const row = ledger.run(RUN);
  if (row === null) throw new Error('there is no run');
  return row;
};

test.each([0, 1, 2, 3, 9, 40])('the ending is found with %i events behind it', async (behind) => {
  const ledger = await stage(5, behind);
  expect(findCheckPassed(ledger, rowOf(ledger))).toBe(false);
});

test('a list reads the last events of a run once, however many it has', async () => {
  const ledger = await stage(200, 1);
  const read = vi.spyOn(ledger, 'read');
  for (let round = 0; round < 3; round += 1) expect(findCheckPassed(ledger, rowOf(ledger))).toBe(false);
  expect(read.mock.calls).toEqual([[{ runId: RUN, types: ['dispatch.finished'], after: 202 }]]);
});

test.each([
  [{ patchRef: 'ab'.repeat(32) }, true],
  [{ patchMissing: 'too big' }, true],
  [{}, false],
])('of an ending with %o it is known whether there is work', async (left, hasWork) => {
  const ledger = createMemoryLedger();
  const record = createRecorder({ ledger, clock: systemClock }).of(RUN);
  await record.append('dispatch.accepted', SAMPLE_DATA['dispatch.accepted'], { attempt: 0 });
  await record.append('dispatch.finished', { durationMs: 1, ...left }, { attempt: 1 });
  expect(findDoneWork(ledger, rowOf(ledger))).toEqual({ hasWork });
});
