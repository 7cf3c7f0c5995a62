/** What this host knows of the runs that it drives, added up from its own events and kept in memory until they end. */
import { isTerminal, knownTypeOf, LiveCount, type LiveRun } from '@caisson/protocol';
import type { PublishedEvent } from '../ledger/index.ts';

export interface LiveStates {
  receive(event: PublishedEvent): void;
  /** Null for a run that this process does not drive. */
  read(runId: string): LiveRun | null;
}

/** `readEvents`: what earlier hosts have recorded of a run that this one adopts. */
export function createLiveStates(readEvents: (runId: string) => readonly PublishedEvent[]): LiveStates {
  const counts = new Map<string, LiveCount>();
  return {
    receive(event) {
      if (event.runId === null) return;
      const type = knownTypeOf(event);
      if (isTerminal(type)) return void counts.delete(event.runId);
      if (type === 'run.adopted') return void counts.set(event.runId, countAll(readEvents(event.runId)));
      if (type === 'dispatch.accepted') counts.set(event.runId, new LiveCount(event.at));
      counts.get(event.runId)?.add(event);
    },
    read: (runId) => counts.get(runId)?.read('host') ?? null,
  };
}

function countAll(events: readonly PublishedEvent[]): LiveCount {
  const count = new LiveCount(events[0]?.at ?? '');
  for (const event of events) count.add(event);
  return count;
}
