import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openRooms, prepareRun } from '../admission/fixtures/open-rooms.ts';
import type { WorkerHandle } from '../compute/index.ts';
import type { RunRecord } from '../ledger/index.ts';
import { PreparedWorkspace } from '../workspace/index.ts';
import { launch } from './launch.ts';

test('a launched worker is in the ledger, with all that a later host needs, and waits', async () => {
  const { rooms } = await openRooms();
  const { run, record, prepared } = await prepareRun(rooms, { argv: ['touch', 'made.txt'] });
  const { nonce, workspace } = prepared;
  const { handle } = await launch(rooms, run, record, prepared);
  onTestFinished(() => prepared.discard());
  const [launched] = rooms.ledger.read({ runId: run.runId, types: ['attempt.launched'] });
  expect(launched).toMatchObject({ attempt: 1, data: { handle, nonce } });
  expect(PreparedWorkspace.parse(launched?.data.workspace)).toEqual(workspace);
  expect(rooms.compute.recover(handle)).toEqual({ alive: true });
  expect(existsSync(join(workspace.path, 'made.txt'))).toBe(false);
  expect(await rooms.compute.stop(handle)).toEqual([]);
  expect(rooms.compute.recover(handle)).toEqual({ alive: false });
});

test('a worker whose launch cannot be recorded does not outlive it', async () => {
  const { rooms } = await openRooms();
  const { run, record, prepared } = await prepareRun(rooms, { argv: ['true'] });
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
  const full: RunRecord = {
    append: () => Promise.reject(new Error('the disk is full')),
    appendAll: (events, attempt) => record.appendAll(events, attempt),
    keep: (type, data, place) => record.keep(type, data, place),
    publish: (type, data, attempt) => record.publish(type, data, attempt),
    flush: () => record.flush(),
  };
  await expect(launch({ ...rooms, compute }, run, full, prepared)).rejects.toThrow('the disk is full');
  if (started === undefined) throw new Error('no worker was started');
  expect(rooms.compute.recover(started)).toEqual({ alive: false });
});
