import { expect, test } from 'vitest';
import { openRooms } from '../admission/fixtures/open-rooms.ts';
import { createDispatcher } from './dispatcher.ts';

test('the record of a run is read for its seal and for its caller, who holds no slot any more', async () => {
  const { rooms } = await openRooms();
  const { ledger } = rooms;
  const slots: number[] = [];
  const readRun = ledger.readRun.bind(ledger);
  ledger.readRun = (runId) => {
    slots.push(ledger.leases.listSlots().length);
    return readRun(runId);
  };
  const { ended } = await createDispatcher(rooms).dispatch({ argv: ['true'], workspace: 'empty' });
  expect((await ended).status).toBe('done');
  expect(slots).toEqual([1, 0]);
});
