import { Draft } from './draft.ts';
import { toStoredEvent } from './event-record.ts';
import { project } from './project.ts';
import type { Storage } from './storage.ts';
import { walkAll } from './walk-all.ts';

/** So many events are replayed before their rows are written. */
const REBUILT_AT_ONCE = 4096;

/** Forgets every row and replays all events, piece by piece; the truth itself is not touched (L7). */
export function rebuild(storage: Storage): void {
  storage.clearProjections();
  let draft = new Draft(storage);
  for (const record of walkAll(storage, 0)) {
    project(toStoredEvent(record), draft);
    if (record.offset % REBUILT_AT_ONCE !== 0) continue;
    storage.apply(draft);
    draft = new Draft(storage);
  }
  storage.apply(draft);
}
