import { expect, test } from 'vitest';
import { admit } from './admit.ts';
import type { DispatchRequest } from './contract.ts';
import { TaskRefusedError } from './errors.ts';
import { openRooms } from './fixtures/open-rooms.ts';

const REFUSED: [string, unknown, string][] = [
  ['a member of the wrong type', { argv: 'true' }, 'request-shape'],
  ['an unknown mode', { argv: ['true'], mode: 'yolo' }, 'mode-known'],
  ['a scope that could take too long', { argv: ['true'], scope: ['w/+(a|aa)b'] }, 'request-shape'],
  ['the work of no run', { argv: ['true'], keepWork: '' }, 'work-kept'],
  ['the work of an unknown run', { argv: ['true'], keepWork: 'run_00000000000000000000' }, 'work-kept'],
];

test.each(REFUSED)('%s is refused: no run, one recorded reason', async (_what, request, check) => {
  const { rooms } = await openRooms();
  const refused = await admit(rooms, request as DispatchRequest).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(TaskRefusedError);
  expect(refused).toMatchObject({ refusal: { check } });
  expect(rooms.ledger.runs()).toEqual([]);
  expect(rooms.ledger.read()).toMatchObject([{ type: 'task.refused', runId: null, data: { check } }]);
});

test('an admitted run is queued in the ledger before anything else exists', async () => {
  const { rooms } = await openRooms();
  const { runId } = await admit(rooms, { argv: ['true'] });
  expect(rooms.ledger.run(runId)).toMatchObject({ status: 'queued', host: rooms.hostId });
  expect(rooms.ledger.read({ runId }).map(({ type }) => type)).toEqual(['dispatch.accepted']);
  expect(await rooms.workspaces.recoverList({ stateDir: rooms.settings.stateDir })).toEqual([]);
});
