/** How many sessions there may be, and which one ends for the next: no owner takes the room of one that has less. */

/** Of one owner: a program that forgets its sessions loses its own. */
const MAX_OF_OWNER = 16;
const MAX_SESSIONS = 256;

export interface RoomSession {
  readonly owner: string;
  /** Something that it was asked for is not done. */
  isBusy(): boolean;
}

/** `ends`: there is room once this one has ended. `none`: all that could end are busy. */
export type Room =
  | { readonly kind: 'free' }
  | { readonly kind: 'ends'; readonly id: string }
  | { readonly kind: 'none' };

/** `sessions` are in the order of their last use. */
export function findRoom(sessions: ReadonlyMap<string, RoomSession>, owner: string): Room {
  const all = [...sessions];
  const countOf = (one: string): number => all.filter(([, session]) => session.owner === one).length;
  const own = countOf(owner);
  if (own < MAX_OF_OWNER && all.length < MAX_SESSIONS) return { kind: 'free' };
  const isOthers = own < MAX_OF_OWNER;
  const [first] = all
    .filter(([, session]) => !session.isBusy())
    .filter(([, session]) => session.owner === owner || (isOthers && countOf(session.owner) > own));
  return first === undefined ? { kind: 'none' } : { kind: 'ends', id: first[0] };
}
