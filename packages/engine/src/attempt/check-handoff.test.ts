import { systemClock } from '@caisson/ground';
import { expect, test } from 'vitest';
import { SAMPLE_DATA } from '../../../protocol/src/fixtures/sample-events.ts';
import { createMemoryLedger, createRecorder } from '../ledger/index.ts';
import { recordHandoff } from './check-handoff.ts';

const RUN = 'run_00000000000000000001';

async function check(work: object, ending: object, saved: string[] = []): Promise<unknown> {
  const ledger = createMemoryLedger();
  const accepted = SAMPLE_DATA['dispatch.accepted'];
  const task = { ...accepted.task, branch: 'work', scope: undefined };
  const record = createRecorder({ ledger, clock: systemClock }).of(RUN);
  await record.append('dispatch.accepted', { ...accepted, task }, { attempt: 0 });
  const ended = {
    ...{ runId: RUN, isForBranch: true, workspace: {}, ending, result: null, work },
    ...{ usage: undefined, durationMs: 1, total: undefined, redact: (text: string) => text },
  };
  const rooms = { ledger, store: {}, workspaces: { listSavedChanges: () => Promise.resolve(saved) } };
  return await recordHandoff(rooms as never, ended as never, () => false);
}

test.each([
  [{}, true, true],
  [{ patchMissing: 'the disk is full' }, false, false],
])('work that left %o is empty: %s', async (work, isEmpty, patchApplies) => {
  const recorded = await check(work, { kind: 'finished' });
  expect(recorded).toMatchObject([{ data: { handoff: { verdict: { isEmpty, patchApplies } } } }]);
});

test('a run that timed out gets one from the host, also if its worker left no patch', async () => {
  const failed = (reason: string) => ({ kind: 'failed', failure: { reason, detail: 'no end' } });
  expect(await check({}, failed('timeout'), ['a.txt'])).toMatchObject([
    {
      data: {
        handoff: {
          ...{ status: 'partial', by: 'host', filesChanged: ['a.txt'] },
          summary: 'The agent ran out of time before it reported.',
          verdict: { isEmpty: false, patchApplies: false },
        },
      },
    },
  ]);
  expect(await check({}, failed('crashed'), ['a.txt'])).toEqual([]);
});
