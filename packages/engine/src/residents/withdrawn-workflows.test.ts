/** Threads of a workflow that a reload removes while its role works, and of one that is declared again. */
import { createManualClock, createStamp } from '@caisson/ground';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { SAMPLE_DATA } from '../../../protocol/src/fixtures/sample-events.ts';
import type { DispatchRequest } from '../admission/index.ts';
import { createBus } from '../bus/index.ts';
import { createFeed, createMemoryLedger, createRecorder } from '../ledger/index.ts';
import type { ResidentSettings } from './contract.ts';
import { createResidents } from './create-residents.ts';
import { createFakeStarter, type FakeGuest } from './fixtures/fake-starter.ts';
import { settle } from './fixtures/open-runtime.ts';
import { SETTINGS, USER } from './thread-stage.ts';
import { createThreads } from './threads.ts';

/** One workflow, with guests that a test answers for; the rest is real. */
async function openWorkflow() {
  const root = await mkdtemp(join(tmpdir(), 'withdrawn-'));
  const file = join(root, 'fix.ts');
  await writeFile(file, 'export default 1;');
  const clock = createManualClock();
  const ledger = createMemoryLedger();
  const recorder = createRecorder({ ledger, clock });
  const feed = createFeed({ ledger, recorder, clock });
  const starter = createFakeStarter({ clock, script: (guest) => guest.ready() });
  const grant = { read: [], write: [], hosts: [], limits: { memory: 1, pids: 1, disk: 1 } };
  const flow = { name: 'fix', file, on: [], concurrency: 2, overflow: 'queue' as const, grant };
  const declared: { now: ResidentSettings } = { now: { senses: [], workflows: [flow] } };
  const requests: DispatchRequest[] = [];
  const residents = await createResidents({
    ...{ projectRoot: root, starter, clock, ledger, recorder, feed, bus: createBus() },
    stamp: createStamp(Buffer.from('a secret')),
    readSettings: () => declared.now,
    openThreads: (runtime) =>
      createThreads({
        ...{ clock, ledger, recorder, feed, runtime, projectRoot: root, depth: 2 },
        findWorkflow: () => (declared.now.workflows.length > 0 ? { ...SETTINGS, concurrency: 2 } : null),
        async dispatch(request) {
          requests.push(request);
          const { runId = '', idempotencyKey } = request;
          const data = { ...SAMPLE_DATA['dispatch.accepted'], idempotencyKey };
          await recorder.of(runId).append('dispatch.accepted', data, { attempt: 0 });
          return { runId };
        },
        measurePatch: () => Promise.reject(new Error('no run has ended')),
        describeRun: () => Promise.reject(new Error('it was forgotten')),
        cancelRun: () => Promise.resolve(),
        warn: () => undefined,
      }),
    warn: () => undefined,
  });
  onTestFinished(async () => {
    for (const guest of starter.guests) guest.end();
    await residents.stop();
    feed.stop();
    await rm(root, { recursive: true, force: true });
  });
  const { threadId } = (await residents.threads.start({ workflow: 'fix', ...USER })) as { threadId: string };
  /** The order of this guest, with the one turn that it was given. */
  const turnOf = async (guest: () => FakeGuest | undefined) => {
    const find = () => guest()?.orders.find(({ kind }) => kind === 'turn');
    for (let turns = 0; turns < 1000 && find() === undefined; turns += 1) await settle();
    const order = find();
    if (order?.kind !== 'turn') throw new Error('it was given no turn');
    return order;
  };
  const first = await turnOf(() => starter.guests[0]);
  await residents.threads.start({ workflow: 'fix', ...USER }); // it works on the same worker, and keeps it
  const set = async (workflows: ResidentSettings['workflows']): Promise<void> => {
    declared.now = { senses: [], workflows };
    await residents.reload();
    for (let turns = 0; turns < 20; turns += 1) await settle();
  };
  return {
    ...{ starter, first, requests, residents, recorder, ledger, turnOf },
    remove: () => set([]),
    declare: () => set([flow]),
    row: () => ledger.thread(threadId),
  };
}

test('a thread whose workflow is removed while its role works goes on when it is declared again', async () => {
  const { starter, first, remove, declare, row, turnOf } = await openWorkflow();
  await remove();
  expect(starter.guests[0]?.orders.at(-1)?.kind).toBe('stop');
  // What the role makes is kept; the next turn has no worker.
  starter.guests[0]?.say({
    kind: 'turned',
    id: first.id,
    outcome: { kind: 'message', role: 'role', content: 'made' },
  });
  for (let turns = 0; turns < 20; turns += 1) await settle();
  expect(row()).toMatchObject({ status: 'running', rounds: 1 });
  await declare();
  const [, other] = starter.guests[0]?.orders.filter((order) => order.kind === 'turn') ?? [];
  starter.guests[0]?.say({ kind: 'turned', id: other?.id ?? '', outcome: { kind: 'end' } });
  const next = await turnOf(() => starter.guests[1]);
  expect(next).toMatchObject({ round: 1, messages: [{ content: 'made' }] });
  starter.guests[1]?.say({ kind: 'turned', id: next.id, outcome: { kind: 'end' } });
  for (let turns = 0; turns < 20; turns += 1) await settle();
  expect(row()).toMatchObject({ status: 'done' });
});

test('a run that a role asks for while its workflow is removed is started, once, when it is declared again', async () => {
  const { starter, first, remove, declare, row, requests, recorder, turnOf } = await openWorkflow();
  await remove();
  const request = { kind: 'dispatch', request: { task: 'fix it' }, waits: true } as const;
  starter.guests[0]?.say({ kind: 'step', id: first.id, ordinal: 0, request });
  for (let turns = 0; turns < 20; turns += 1) await settle();
  expect([requests, row()?.status]).toEqual([[], 'waiting']);
  starter.guests[0]?.end({ why: 'stopped' }); // it waits for the host alone, so that its worker ends
  for (let turns = 0; turns < 20; turns += 1) await settle();
  expect([requests, row()?.status]).toEqual([[], 'waiting']);
  await declare();
  expect(requests.map(({ task }) => task)).toEqual(['fix it']);
  const [{ runId = '' } = {}] = requests;
  await recorder.of(runId).append('dispatch.finished', SAMPLE_DATA['dispatch.finished'], { attempt: 1 });
  const again = await turnOf(() => starter.guests[1]);
  starter.guests[1]?.say({ kind: 'step', id: again.id, ordinal: 0, request });
  for (let turns = 0; turns < 100; turns += 1) await settle();
  expect(starter.guests[1]?.orders.find(({ kind }) => kind === 'step-done')).toMatchObject({ ok: true });
  expect(requests.length).toBe(1);
});
