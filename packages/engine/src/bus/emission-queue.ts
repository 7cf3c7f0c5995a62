import type { Route } from './routes.ts';

/** How long listeners that answer events with events may run before other work of the process gets a turn. */
const MAX_CASCADE = 64;
const MAX_KEPT_CAPACITY = 8192;

/** Emissions that wait for the next drain. The arrays keep their length: growing them again costs more. */
interface Batch {
  readonly routes: (Route | undefined)[];
  readonly payloads: unknown[];
  count: number;
}

export interface EmissionQueue {
  /** The emission's number, or 0 when the queue is full. */
  put(route: Route, payload: unknown): number;
  lastSeq(): number;
}

/** Delivers emissions in order, all of one turn together, once the emitter's own code has returned (E1, E3). */
export function createEmissionQueue(
  maxPending: number,
  handOut: (seq: number, route: Route, payload: unknown) => void,
  onOverflow: (route: Route) => void,
): EmissionQueue {
  // Two batches alternate: one is filled while the other is delivered.
  let pending = createBatch();
  let spare = createBatch();
  let lastSeq = 0;
  let isScheduled = false;
  let isDraining = false;
  let isOverflowing = false;
  let cascade = 0;

  function put(route: Route, payload: unknown): number {
    if (pending.count >= maxPending) {
      if (!isOverflowing) onOverflow(route);
      isOverflowing = true;
      return 0;
    }
    pending.routes[pending.count] = route;
    pending.payloads[pending.count] = payload;
    pending.count += 1;
    lastSeq += 1;
    if (!isScheduled) schedule();
    return lastSeq;
  }

  function schedule(): void {
    isScheduled = true;
    cascade = isDraining ? cascade + 1 : 0;
    if (cascade <= MAX_CASCADE) queueMicrotask(drain);
    else setImmediate(drain);
  }

  function drain(): void {
    const batch = pending;
    pending = spare;
    isScheduled = false;
    isOverflowing = false;
    isDraining = true;
    const before = lastSeq - batch.count + 1;
    for (let i = 0; i < batch.count; i++) handOut(before + i, batch.routes[i] as Route, batch.payloads[i]);
    isDraining = false;
    spare = emptied(batch);
  }

  return { put, lastSeq: () => lastSeq };
}

function createBatch(): Batch {
  return { routes: [], payloads: [], count: 0 };
}

/** Ready for reuse, without references to what was delivered. */
function emptied(batch: Batch): Batch {
  if (batch.count > MAX_KEPT_CAPACITY) return createBatch();
  batch.routes.fill(undefined, 0, batch.count);
  batch.payloads.fill(undefined, 0, batch.count);
  batch.count = 0;
  return batch;
}
