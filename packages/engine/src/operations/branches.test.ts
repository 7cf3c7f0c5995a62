import { systemClock } from '@caisson/ground';
import { expect, test, vi } from 'vitest';
import { SAMPLE_DATA } from '../../../protocol/src/fixtures/sample-events.ts';
import type { Engine } from '../engine.ts';
import { createMemoryLedger, createRecorder, DEFAULT_POOL } from '../ledger/index.ts';
import { pushBranch } from '../attempt/index.ts';
import { dropBranch, listBranches } from './branches.ts';
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

/** A run of this project whose branch is to be pushed; `push` is what its remote does. */
async function stagePush(push: () => Promise<void>) {
  const ledger = createMemoryLedger();
  const recorder = createRecorder({ ledger, clock: systemClock });
  const record = recorder.of('run_a');
  const repository = { remote: '/srv/r.git', push: true };
  const accepted = { ...SAMPLE_DATA['dispatch.accepted'], repository, requestRef: 'f'.repeat(64) };
  await record.append('dispatch.accepted', accepted, { attempt: 0 });
  const { host = '' } = ledger.run('run_a') ?? {};
  const { pool = DEFAULT_POOL } = ledger.run('run_a') ?? {};
  ledger.leases.tryTake({ pool, runId: 'run_a', hostId: host, limit: 1, nowMs: Date.now() });
  await record.append('dispatch.finished', { ...SAMPLE_DATA['dispatch.finished'], branch }, { attempt: 0 });
  const request = { task: 'x', repo: repository.remote, branch: 'work', push: true };
  const rooms = {
    ...{ ledger, hostId: host, clock: systemClock, workspaces: { pushBranch: push } },
    store: { getBlob: () => Promise.resolve(Buffer.from(JSON.stringify(request))) },
    settings: { stateDir: '/state', cwd: '/', git: { timeoutMs: 1000 } },
  };
  return { engine: { ledger, recorder, rooms } as unknown as Engine, record };
}

test('a remote that does not answer keeps back no branch of another one', async () => {
  const ledger = createMemoryLedger();
  const recorder = createRecorder({ ledger, clock: systemClock });
  const remotes = ['/srv/silent.git', '/srv/fine.git'];
  for (const [index, remote] of remotes.entries()) {
    const record = recorder.of(`run_${index}`);
    const requestRef = String(index).repeat(64);
    const accepted = { ...SAMPLE_DATA['dispatch.accepted'], repository: { remote, push: true }, requestRef };
    await record.append('dispatch.accepted', accepted, { attempt: 0 });
    await record.append('dispatch.finished', { ...SAMPLE_DATA['dispatch.finished'], branch }, { attempt: 0 });
  }
  const isFine = Promise.withResolvers<void>();
  const push = ({ remote }: { remote: { url: string } }): Promise<void> => {
    if (remote.url === remotes[1]) isFine.resolve();
    return isFine.promise;
  };
  const requestOf = (ref: string) => ({
    task: 'x',
    repo: remotes[Number(ref[0])],
    branch: 'work',
    push: true,
  });
  const rooms = {
    ...{ ledger, hostId: 'host_next', clock: systemClock, workspaces: { pushBranch: push } },
    store: { getBlob: (ref: string) => Promise.resolve(Buffer.from(JSON.stringify(requestOf(ref)))) },
    settings: { stateDir: '/state', cwd: '/', git: { timeoutMs: 1000 } },
  };
  await pushLeft({ ledger, recorder, rooms } as unknown as Engine);
  expect(ledger.runs({ waitingBranch: 'pending' })).toEqual([]);
});

test('a branch that two push at once is pushed once in the record', async () => {
  const both = Promise.withResolvers<void>();
  let begun = 0;
  const { engine, record } = await stagePush(() => {
    begun += 1;
    if (begun === 2) both.resolve();
    return both.promise;
  });
  const push = (cause: 'own' | 'asked'): Promise<void> =>
    pushBranch(engine.rooms, record, 'run_a', { cause });
  await Promise.all([push('own'), push('asked')]);
  const types = engine.ledger.read({ runId: 'run_a' }).map(({ type }) => type);
  expect(types.filter((type) => type.startsWith('branch.'))).toEqual(['branch.pushed']);
});

test('a branch that is being pushed cannot be dropped, and says so until it is', async () => {
  const { engine, record } = await stagePush(() => Promise.resolve());
  expect(await listBranches(engine)).toMatchObject([{ branch: 'work', isPushing: true }]);
  await expect(dropBranch(engine, 'run_a')).rejects.toMatchObject({
    remedy: expect.stringContaining('caisson cancel run_a') as string,
  });
  await pushBranch(engine.rooms, record, 'run_a');
  expect(await listBranches(engine)).toEqual([]);
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
