import { systemClock } from '@caisson/ground';
import { expect, test, vi } from 'vitest';
import { SAMPLE_DATA } from '../../../protocol/src/fixtures/sample-events.ts';
import type { Engine } from '../engine.ts';
import { createMemoryLedger, createRecorder } from '../ledger/index.ts';
import { listBranches } from './branches.ts';
import { pushLeft } from './push-left.ts';

const branch = { name: 'work', commit: 'c'.repeat(40), status: 'created' as const };

/** Runs on a remote whose branch is there, and one whose branch waits. */
async function stage(pushed: number) {
  const ledger = createMemoryLedger();
  const recorder = createRecorder({ ledger, clock: systemClock });
  const repository = { remote: '/srv/r.git', push: true };
  for (let index = 0; index <= pushed; index += 1) {
    const record = recorder.of(`run_${String(index).padStart(20, '0')}`);
    const accepted = { ...SAMPLE_DATA['dispatch.accepted'], repository };
    await record.append('dispatch.accepted', accepted, { attempt: 0 });
    await record.append('repository.fetched', SAMPLE_DATA['repository.fetched'], { attempt: 0 });
    await record.append('dispatch.finished', { ...SAMPLE_DATA['dispatch.finished'], branch }, { attempt: 0 });
    const { commit, name } = branch;
    const outcome = { remote: repository.remote, branch: name };
    if (index < pushed) await record.append('branch.pushed', { ...outcome, commit }, { attempt: 0 });
    else
      await record.append('branch.push-failed', { ...outcome, reason: 'taken', detail: 'd' }, { attempt: 0 });
  }
  return { ledger, recorder };
}

test('a branch that this host itself did not push is not pushed as that of a dead one', async () => {
  const { ledger, recorder } = await stage(0);
  const record = recorder.of('run_pending');
  const accepted = { ...SAMPLE_DATA['dispatch.accepted'], repository: { remote: '/srv/r.git', push: true } };
  await record.append('dispatch.accepted', accepted, { attempt: 0 });
  await record.append('dispatch.finished', { ...SAMPLE_DATA['dispatch.finished'], branch }, { attempt: 0 });
  const [row] = ledger.runs({ waitingBranch: 'pending' });
  const readRun = vi.spyOn(ledger, 'readRun');
  const pushAs = (hostId: string): Promise<void> =>
    pushLeft({ ledger, recorder, rooms: { ledger, hostId } } as unknown as Engine);
  await pushAs(row?.host ?? '');
  expect(readRun).not.toHaveBeenCalled();
  await pushAs('host_another');
  expect(readRun).toHaveBeenCalledWith('run_pending');
});

test('what waits is found without a look at the other runs', async () => {
  const { ledger, recorder } = await stage(30);
  const read = vi.spyOn(ledger, 'read');
  const engine = { ledger, recorder } as unknown as Engine;
  expect(await listBranches(engine)).toMatchObject([{ branch: 'work', push: { status: 'failed' } }]);
  const waiting = `run_${'30'.padStart(20, '0')}`;
  expect(read.mock.calls).toEqual([[{ runId: waiting }]]);
  read.mockClear();
  await pushLeft(engine);
  expect(read).not.toHaveBeenCalled();
});

/** A run that timed out with its branch, and what became of the runs that continue it, each of the one before. */
async function listAfter(next: readonly { readonly asked: string | null; readonly made: string | null }[]) {
  const ledger = createMemoryLedger();
  const recorder = createRecorder({ ledger, clock: systemClock });
  const failure = { reason: 'timeout', detail: 'd' } as const;
  const { task, ...sample } = SAMPLE_DATA['dispatch.accepted'];
  const runs = [{ asked: 'work', made: 'work created' }, ...next];
  for (const [index, { asked, made }] of runs.entries()) {
    const record = recorder.of(`run_${index}`);
    const accepted = { ...sample, task: { ...task, ...(asked === null ? {} : { branch: asked }) } };
    const earlier = index === 0 ? {} : { continues: `run_${index - 1}` };
    await record.append('dispatch.accepted', { ...accepted, ...earlier }, { attempt: 0 });
    if (made === 'open') continue;
    const [name = '', status] = made?.split(' ') ?? [];
    const left = made === null ? {} : { branch: { ...branch, name, status: status as 'created' } };
    const ending = { ...SAMPLE_DATA['dispatch.failed'], failure, ...left };
    await record.append('dispatch.failed', ending, { attempt: 0 });
  }
  return (await listBranches({ ledger, recorder } as unknown as Engine)).map(({ runId }) => runId);
}

test.each([
  ['is under way with its branch is not listed', [{ asked: 'work', made: 'open' }], []],
  ['ended with its branch is not listed', [{ asked: 'work', made: 'work created' }], ['run_1']],
  ['ended without it is listed', [{ asked: 'work', made: null }], ['run_0']],
  ['could not make it is listed', [{ asked: 'work', made: 'work taken' }], ['run_1', 'run_0']],
  ['does without it is listed', [{ asked: null, made: 'open' }], ['run_0']],
  ['has another one is listed', [{ asked: 'other', made: 'other created' }], ['run_1', 'run_0']],
  [
    'ended without it, before a third one took it, is not listed',
    [
      { asked: 'work', made: null },
      { asked: 'work', made: 'work created' },
    ],
    ['run_2'],
  ],
])('the branch of a run that is continued by one that %s', async (_what, next, listed) => {
  expect(await listAfter(next)).toEqual(listed);
});
