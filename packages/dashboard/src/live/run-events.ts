/** The recorded events of one run, in order and each once, from the list and from the feed. */
import type { EventEnvelope } from '@caisson/protocol';

export interface RunEvents {
  readonly events: readonly EventEnvelope[];
  readonly lastSeq: number;
  /** An event came whose predecessors are missing: read what follows `lastSeq`. */
  readonly hasHole: boolean;
  /** Events that are no longer kept: the page keeps the newest. */
  readonly dropped: number;
}

export const NO_EVENTS: RunEvents = { events: [], lastSeq: 0, hasHole: false, dropped: 0 };
/** An attempt records 2,000 events of its work; this is for many attempts. */
export const MAX_KEPT = 20_000;

export function addEvents(state: RunEvents, coming: readonly EventEnvelope[]): RunEvents {
  let { lastSeq, hasHole } = state;
  const added: EventEnvelope[] = [];
  for (const event of coming) {
    if (event.seq === 0 || event.seq <= lastSeq) continue;
    if (event.seq !== lastSeq + 1) {
      hasHole = true;
      break;
    }
    hasHole = false;
    lastSeq = event.seq;
    added.push(event);
  }
  if (added.length === 0) return hasHole === state.hasHole ? state : { ...state, hasHole };
  const events = [...state.events, ...added];
  const over = Math.max(0, events.length - MAX_KEPT);
  return { events: events.slice(over), lastSeq, hasHole, dropped: state.dropped + over };
}
