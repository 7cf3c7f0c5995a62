/**
 * What this host knows of the runs that it drives, added up from its own events and kept in memory until they end. A run that
 * it adopts has a record of its own, which may be long: it is read in pieces, and what comes meanwhile is added after it.
 */
import { isTerminal, knownTypeOf, LiveCount, type LiveRun } from '@caisson/protocol';
import type { PublishedEvent } from '../ledger/index.ts';

export interface LiveStates {
  receive(event: PublishedEvent): void;
  /** Null for a run that this process does not drive, or whose record it has not read yet. */
  read(runId: string): LiveRun | null;
}

type State =
  | { readonly kind: 'counted'; readonly count: LiveCount }
  | { readonly kind: 'reading'; readonly later: PublishedEvent[] };

/** `readEvents`: what earlier hosts have recorded of a run that this one adopts. */
export function createLiveStates(
  readEvents: (runId: string) => Promise<readonly PublishedEvent[]>,
): LiveStates {
  const states = new Map<string, State>();

  async function adopt(runId: string): Promise<void> {
    const state: State = { kind: 'reading', later: [] };
    states.set(runId, state);
    // A record that cannot be read is reported by the adoption itself; the list then adds up what it can.
    const events = await readEvents(runId).catch(() => null);
    if (states.get(runId) !== state) return; // it ended meanwhile, or was adopted again
    if (events === null) return void states.delete(runId);
    const last = events.at(-1)?.seq ?? 0;
    const later = state.later.filter(({ seq }) => seq === 0 || seq > last);
    states.set(runId, { kind: 'counted', count: countAll([...events, ...later]) });
  }

  return {
    receive(event) {
      if (event.runId === null) return;
      const type = knownTypeOf(event);
      if (isTerminal(type)) return void states.delete(event.runId);
      if (type === 'run.adopted') return void adopt(event.runId);
      if (type === 'dispatch.accepted')
        states.set(event.runId, { kind: 'counted', count: new LiveCount(event.at) });
      const state = states.get(event.runId);
      if (state?.kind === 'reading') state.later.push(event);
      else state?.count.add(event);
    },
    read(runId) {
      const state = states.get(runId);
      return state?.kind === 'counted' ? state.count.read('host') : null;
    },
  };
}

function countAll(events: readonly PublishedEvent[]): LiveCount {
  const count = new LiveCount(events[0]?.at ?? '');
  for (const event of events) count.add(event);
  return count;
}
