import { expect, test } from 'vitest';
import { openRooms } from '../admission/fixtures/open-rooms.ts';
import { createRecorder, type Ledger } from '../ledger/index.ts';
import { createDispatcher } from './dispatcher.ts';

/** Carries out `true`, and returns what was recorded together. */
async function recordNoOp() {
  const { rooms } = await openRooms();
  const calls: string[][] = [];
  const append: Ledger['append'] = (events, options) => {
    calls.push(events.map(({ type }) => type));
    return rooms.ledger.append(events, options);
  };
  // Of a slow machine: what waits only a moment for the next event is written alone, what waits longer is not.
  const setTimer = (ms: number, write: () => void): (() => void) =>
    ms < 100 ? rooms.clock.setTimer(0, write) : () => undefined;
  const clock = { ...rooms.clock, setTimer };
  const recorder = createRecorder({ ledger: { append }, clock });
  const dispatcher = createDispatcher({ ...rooms, recorder });
  const { runId, ended } = await dispatcher.dispatch({ argv: ['true'], workspace: 'empty' });
  expect(await ended).toMatchObject({ status: 'done', exitCode: 0 });
  return { calls, types: rooms.ledger.read({ runId }).map(({ type }) => type) };
}

test('events that come together are one commit: launch and start, and the ending with what precedes it', async () => {
  const { calls, types } = await recordNoOp();
  const work = ['tool.started', 'tool.ended', 'runtime.adapter.ran', 'capture.done', 'capture.done'];
  expect(calls).toEqual([
    ['dispatch.accepted'],
    ['attempt.launched', 'dispatch.started'],
    [...work, 'dispatch.finished'],
  ]);
  expect(types).toEqual([
    ...['dispatch.accepted', 'attempt.launched', 'dispatch.started', ...work],
    ...['dispatch.finished', 'evidence.sealed'],
  ]);
});
