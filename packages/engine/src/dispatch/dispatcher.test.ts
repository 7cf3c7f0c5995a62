import { realpathSync } from 'node:fs';
import { expect, test, vi } from 'vitest';
import { openRooms } from '../admission/fixtures/open-rooms.ts';
import { createDispatcher } from './dispatcher.ts';

test('the record of a run is read in pieces, for its seal and for its caller, who holds no slot any more', async () => {
  const { rooms } = await openRooms();
  const { ledger } = rooms;
  const slots: number[] = [];
  const read = vi.spyOn(ledger, 'read');
  const readRun = ledger.readRun.bind(ledger);
  ledger.readRun = (runId) => {
    slots.push(ledger.leases.listSlots().length);
    return readRun(runId);
  };
  const { ended } = await createDispatcher(rooms).dispatch({ argv: ['true'], workspace: 'empty' });
  expect((await ended).status).toBe('done');
  expect(slots).toEqual([1, 0]);
  expect(read.mock.calls.filter(([query]) => query?.runId !== undefined)).toEqual([]);
});

test('while a run is under way, what the first seal needs of its program is prepared', async () => {
  const { rooms } = await openRooms();
  const programs: unknown[] = [];
  const prepareToSeal: typeof rooms.prepareToSeal = (program) => programs.push(program?.path);
  const dispatcher = createDispatcher({ ...rooms, prepareToSeal });
  await (
    await dispatcher.dispatch({ argv: ['true'], workspace: 'empty' })
  ).ended;
  expect(programs).toEqual([realpathSync(process.execPath)]);
});
