import type { Draft } from './draft.ts';
import { EMPTY_STREAM } from './event-record.ts';
import type { EventRecord, StreamHead } from './event-record.ts';
import { NEW_STREAM } from './ledger-view.ts';
import type { RunState, StreamState } from './ledger-view.ts';
import { createMemoryProjections } from './memory-projections.ts';
import { createMemoryRows } from './memory-working-rows.ts';
import type { Storage } from './storage.ts';

/**
 * Keeps everything in this process. A full implementation, for tests and for ledgers that are not needed afterwards.
 */
export function createMemoryStorage(): Storage {
  const events: EventRecord[] = [];
  const byId = new Map<string, EventRecord>();
  const streams = new Map<string | null, StreamState>();
  const runs = new Map<string, RunState>();
  const { put, ...projections } = createMemoryProjections(runs);
  let total: StreamHead = EMPTY_STREAM;

  return {
    file: ':memory:',
    isThere: () => true,
    // Nothing can fail between the plan and the last `set`, so there is nothing to roll back.
    read: (work) => work(),
    write: (work) => work(),
    writeWorking: (work) => work(),
    briefly: (work) => work(),
    apply(draft: Draft) {
      for (const record of draft.events) {
        events.push(record);
        byId.set(record.id, record);
      }
      total = draft.total();
      for (const [runId, stream] of draft.changedStreams()) streams.set(runId, stream);
      put(draft);
    },
    ...projections,
    total: () => total,
    stream: (runId) => streams.get(runId) ?? NEW_STREAM,
    eventById: (id) => byId.get(id) ?? null,
    eventAt: (offset) => events[offset - 1] ?? null,
    eventsFrom: (afterOffset, limit) => events.slice(afterOffset, afterOffset + limit),
    streamIds: () => [...streams.keys()],
    countStreams: () => streams.size,
    end: (runId) => {
      const stream = streams.get(runId);
      return stream?.isEnded === true ? stream : null;
    },
    damage: () => [],
    misfiled: () => [],
    working: createMemoryRows(runs),
    watchOthers: () => () => undefined,
    close: () => undefined,
  };
}
