import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openRooms, prepareRun } from '../admission/fixtures/open-rooms.ts';
import type { WorkerHandle } from '../compute/index.ts';
import { PreparedWorkspace } from '../workspace/index.ts';
import { launch } from './launch.ts';

test('a launched worker waits, and what a later host needs of it is known', async () => {
  const { rooms } = await openRooms();
  const { run, prepared } = await prepareRun(rooms, { argv: ['touch', 'made.txt'] });
  const { nonce, workspace } = prepared;
  const { worker, launched } = await launch(rooms, run, prepared);
  onTestFinished(() => prepared.discard());
  expect(launched.data).toMatchObject({ handle: worker.handle, nonce });
  expect(PreparedWorkspace.parse(launched.data.workspace)).toEqual(workspace);
  expect(rooms.compute.recover(worker.handle)).toEqual({ alive: true });
  expect(existsSync(join(workspace.path, 'made.txt'))).toBe(false);
  expect(await rooms.compute.stop(worker.handle)).toEqual([]);
  expect(rooms.compute.recover(worker.handle)).toEqual({ alive: false });
});

test('a worker has the place of its run in the trace in its environment', async () => {
  const { rooms } = await openRooms();
  const caller = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const { run, prepared } = await prepareRun(rooms, { argv: ['true'], trace: caller });
  const { worker } = await launch(rooms, run, prepared);
  onTestFinished(() => prepared.discard());
  const { pid } = worker.handle;
  const variables = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
  expect(variables.filter((line) => line.startsWith('TRACEPARENT='))).toEqual([`TRACEPARENT=${run.trace}`]);
  expect([run.trace.split('-')[1], run.trace === caller]).toEqual([caller.split('-')[1], false]);
  await rooms.compute.stop(worker.handle);
});

test('a worker whose launch fails does not outlive it', async () => {
  const { rooms } = await openRooms();
  const synced = Promise.withResolvers<void>();
  let syncs = 0;
  const workspaces: typeof rooms.workspaces = {
    ...rooms.workspaces,
    sync: () => ((syncs += 1), synced.promise),
  };
  const { run, prepared } = await prepareRun({ ...rooms, workspaces }, { argv: ['true'] });
  expect(syncs, 'begun beside what is prepared').toBe(1);
  onTestFinished(() => prepared.discard());
  let started: WorkerHandle | undefined;
  const compute: typeof rooms.compute = {
    ...rooms.compute,
    async start(start) {
      const worker = await rooms.compute.start(start);
      started = worker.handle;
      return worker;
    },
  };
  synced.reject(new Error('the disk is full'));
  await expect(launch({ ...rooms, compute }, run, prepared)).rejects.toThrow('the disk is full');
  if (started === undefined) throw new Error('no worker was started');
  expect(rooms.compute.recover(started)).toEqual({ alive: false });
});
