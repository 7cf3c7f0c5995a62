import { BusTopic, type BusPayloads } from '@caisson/protocol';

import type { BusListener, BusOptions, SafeEventBus } from './contract.ts';
import { describeThrown } from './describe-thrown.ts';
import { createHistory } from './history.ts';
import { createSubscription, type EventSink } from './subscription.ts';

interface Registration {
  readonly listener: (payload: unknown) => unknown;
  isActive: boolean;
}

/** Who hears a topic. Never changed, only replaced: an emission keeps the one it found (E4) at no cost. */
interface Route {
  readonly topic: BusTopic;
  readonly registrations: readonly Registration[];
  readonly sinks: readonly EventSink[];
}

const DEFAULT_HISTORY = 1024;
const DEFAULT_MAX_PENDING = 262_144;
/** Listeners that answer events with events may go on this long before other work of the process gets a turn. */
const MAX_CASCADE = 64;

/** Emissions that wait for the next drain. The arrays stay as long as they once were: regrowing them costs more. */
interface Batch {
  readonly routes: (Route | undefined)[];
  readonly payloads: unknown[];
  count: number;
}
const MAX_KEPT_CAPACITY = 8192;

/** Builds the bus. There is one in a host, made by `engine.ts`. */
export function createBus(options: BusOptions = {}): SafeEventBus {
  const maxPending = options.maxPending ?? DEFAULT_MAX_PENDING;
  const routes = new Map<BusTopic, Route>();
  const history = createHistory(options.historySize ?? DEFAULT_HISTORY);
  let lastSeq = 0;

  // Two batches take turns: one is filled while the other is delivered.
  let pending = createBatch();
  let spare = createBatch();
  let isScheduled = false;
  let isDraining = false;
  let cascade = 0;
  let isOverflowing = false;

  function emit<T extends BusTopic>(topic: T, payload: BusPayloads[T]): void {
    if (pending.count >= maxPending) return noteOverflow(topic);
    lastSeq += 1;
    history.put(lastSeq, topic, payload);
    pending.routes[pending.count] = routes.get(topic) ?? emptyRoute(topic);
    pending.payloads[pending.count] = payload;
    pending.count += 1;
    if (!isScheduled) schedule();
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
    let seq = lastSeq - batch.count;
    for (let i = 0; i < batch.count; i++) {
      const route = batch.routes[i] as Route;
      const payload = batch.payloads[i];
      seq += 1;
      deliver(route, payload);
      if (route.sinks.length > 0) for (const sink of route.sinks) sink.put(seq, route.topic, payload);
    }
    isDraining = false;
    spare = emptied(batch);
  }

  function deliver(route: Route, payload: unknown): void {
    const { registrations } = route;
    let i = 0;
    while (i < registrations.length) {
      try {
        for (; i < registrations.length; i++) {
          const registration = registrations[i] as Registration;
          if (!registration.isActive) continue; // E4
          const { listener } = registration;
          const returned = listener(payload);
          if (returned !== undefined) watchPromise(returned, route.topic);
        }
      } catch (error) {
        i += 1;
        report(route.topic, error); // E2: the loop goes on behind the one that threw
      }
    }
  }

  function watchPromise(returned: unknown, topic: BusTopic): void {
    if (typeof returned !== 'object' || returned === null || !('then' in returned)) return;
    Promise.resolve(returned).then(undefined, (error: unknown) => report(topic, error));
  }

  function report(topic: BusTopic, error: unknown): void {
    const message = `A listener of ${topic} failed: ${describeThrown(error)}`;
    if (topic === BusTopic.WARNING) tellUnreportable(message); // E2: no recursion
    else emit(BusTopic.WARNING, { source: 'bus', message });
  }

  function noteOverflow(topic: BusTopic): void {
    if (isOverflowing) return;
    isOverflowing = true;
    tellUnreportable(
      `More than ${maxPending} events wait for delivery; events from ${topic} on were dropped.`,
    );
  }

  function tellUnreportable(message: string): void {
    try {
      options.onUnreportable?.(message);
    } catch {
      // The last place that could hear of a failure has failed; the work goes on (invariant 9).
    }
  }

  function update(topic: BusTopic, change: (route: Route) => Partial<Route>): void {
    const route = routes.get(topic) ?? emptyRoute(topic);
    routes.set(topic, { ...route, ...change(route) });
  }

  function on<T extends BusTopic>(topic: T, listener: BusListener<T>): () => void {
    const registration: Registration = { listener: listener as Registration['listener'], isActive: true };
    update(topic, (route) => ({ registrations: [...route.registrations, registration] }));
    return () => {
      if (!registration.isActive) return;
      registration.isActive = false;
      update(topic, (route) => ({
        registrations: route.registrations.filter((one) => one !== registration),
      }));
    };
  }

  return {
    emit,
    emitSafe: emit,
    on,
    listeners: <T extends BusTopic>(topic: T) =>
      (routes.get(topic)?.registrations ?? []).map((one) => one.listener as BusListener<T>),
    subscribe(topics, subscribeOptions) {
      const wanted = typeof topics === 'string' ? [topics] : [...new Set(topics)];
      const { subscription, sink } = createSubscription(wanted, subscribeOptions, {
        history,
        lastSeq,
        detach: (gone) => {
          for (const topic of wanted) {
            update(topic, (route) => ({ sinks: route.sinks.filter((one) => one !== gone) }));
          }
        },
      });
      if (!sink.isClosed())
        for (const topic of wanted) update(topic, (route) => ({ sinks: [...route.sinks, sink] }));
      return subscription;
    },
    lastSeq: () => lastSeq,
    clear() {
      const all = [...routes.values()];
      routes.clear();
      for (const { registrations, sinks } of all) {
        for (const registration of registrations) registration.isActive = false;
        for (const sink of sinks) sink.close();
      }
    },
  };
}

function createBatch(): Batch {
  return { routes: [], payloads: [], count: 0 };
}

/** Ready for reuse, holding on to nothing that was delivered. */
function emptied(batch: Batch): Batch {
  if (batch.count > MAX_KEPT_CAPACITY) return createBatch();
  batch.routes.fill(undefined, 0, batch.count);
  batch.payloads.fill(undefined, 0, batch.count);
  batch.count = 0;
  return batch;
}

function emptyRoute(topic: BusTopic): Route {
  return { topic, registrations: [], sinks: [] };
}
