import { expect, test } from 'vitest';
import { findRoom, type RoomSession } from './session-room.ts';

type Sessions = Map<string, RoomSession>;

function sessionsOf(owner: string, count: number, isBusy = false): [string, RoomSession][] {
  return Array.from({ length: count }, (_, index) => [`${owner}${index}`, { owner, isBusy: () => isBusy }]);
}

test('an owner with as many as it may have loses its own oldest idle session', () => {
  const sessions: Sessions = new Map([
    ...sessionsOf('other', 1),
    ...sessionsOf('busy', 1, true).map(([id, session]): [string, RoomSession] => [
      id,
      { ...session, owner: 'read' },
    ]),
    ...sessionsOf('read', 15),
  ]);
  expect(findRoom(sessions, 'read')).toEqual({ kind: 'ends', id: 'read0' });
  expect(findRoom(sessions, 'other')).toEqual({ kind: 'free' });
});

test('one with calls under way in all of them gets no other', () => {
  expect(findRoom(new Map([...sessionsOf('other', 1), ...sessionsOf('read', 16, true)]), 'read')).toEqual({
    kind: 'none',
  });
});

test('where no room is left, the owner of fewer takes that of one with more, and never the other way round', () => {
  const full: Sessions = new Map(
    Array.from({ length: 16 }, (_, index) => sessionsOf(`owner-${index}-`, index === 0 ? 14 : 16)).flat(),
  );
  full.set('last', { owner: 'last', isBusy: () => false });
  full.set('more', { owner: 'last', isBusy: () => true });
  expect(full.size).toBe(256);
  expect(findRoom(full, 'new')).toEqual({ kind: 'ends', id: 'owner-0-0' });
  const rest: Sessions = new Map([...full].map(([id, one]) => [id, { ...one, isBusy: () => id !== 'last' }]));
  expect(findRoom(rest, 'owner-0-')).toEqual({ kind: 'none' });
});
