/**
 * The voice of one run: numbers come from the ledger, order is the order of the calls, and nobody hears a durable
 * event before it is on disk (invariant 3).
 */
import { eventManifest } from '@caisson/protocol';
import type { NewEvent, PoolRoom, StoredEvent } from '../ledger/index.ts';
import type { LiveEvent } from './contract.ts';
import type { DispatchRooms } from './rooms.ts';

export interface RunRecord {
  /** Resolves when the event is durable. */
  append(
    type: string,
    data: Record<string, unknown>,
    options?: { attempt?: number; id?: string; room?: PoolRoom },
  ): Promise<StoredEvent>;
  /** Several events that stand or fall together. */
  appendAll(
    events: readonly { type: string; data: Record<string, unknown> }[],
    attempt: number,
  ): Promise<readonly StoredEvent[]>;
  /** Heard now, never written. */
  tell(type: string, data: Record<string, unknown>, attempt: number): void;
  /** Waits for everything that was appended so far. */
  flush(): Promise<void>;
}

export function createRunRecord(
  rooms: Pick<DispatchRooms, 'ledger' | 'clock' | 'publish'>,
  runId: string | null,
  trace: string,
): RunRecord {
  let pending: Promise<unknown> = Promise.resolve();
  const compose = (type: string, data: Record<string, unknown>, attempt: number, id?: string): NewEvent => ({
    ...(id === undefined ? {} : { id }),
    runId,
    attempt,
    type,
    version: versionOf(type),
    at: rooms.clock.now().toISOString(),
    trace,
    data,
  });
  const write = async (events: NewEvent[], room?: PoolRoom): Promise<readonly StoredEvent[]> => {
    const stored = await rooms.ledger.append(events, room === undefined ? {} : { room });
    for (const event of stored) rooms.publish(event);
    return stored;
  };
  const queue = (events: NewEvent[], room?: PoolRoom): Promise<readonly StoredEvent[]> => {
    const written = write(events, room);
    pending = Promise.all([pending, written.catch(() => undefined)]);
    return written;
  };
  return {
    async append(type, data, options = {}) {
      const [stored] = await queue([compose(type, data, options.attempt ?? 0, options.id)], options.room);
      if (stored === undefined) throw new Error(`the ledger returned nothing for ${type}`);
      return stored;
    },
    appendAll: (events, attempt) => queue(events.map((event) => compose(event.type, event.data, attempt))),
    tell(type, data, attempt) {
      const event = compose(type, data, attempt);
      rooms.publish({ ...event, id: event.id ?? '', seq: 0, offset: 0 } satisfies LiveEvent);
    },
    async flush() {
      await pending;
    },
  };
}

function versionOf(type: string): number {
  const definition = eventManifest().get(type);
  if (definition === undefined) throw new Error(`${type} is not in the event manifest`);
  return definition.version;
}
