import { BusTopic, type BusPayloads } from '@caisson/protocol';

import type { BusListener, BusOptions, SafeEventBus } from './contract.ts';
import { createDeliver } from './deliver.ts';
import { describeThrown } from './describe-thrown.ts';
import { createEmissionQueue } from './emission-queue.ts';
import { createHistory } from './history.ts';
import { createRoutes, type Registration, type Route } from './routes.ts';
import { createSubscription } from './subscription.ts';

const DEFAULT_HISTORY = 1024;
const DEFAULT_MAX_PENDING = 262_144;

/** Builds the bus. There is one in a host, made by `engine.ts`. */
export function createBus(options: BusOptions = {}): SafeEventBus {
  const maxPending = options.maxPending ?? DEFAULT_MAX_PENDING;
  const routes = createRoutes();
  const history = createHistory(options.historySize ?? DEFAULT_HISTORY);
  const deliver = createDeliver(report);
  const queue = createEmissionQueue(maxPending, handOut, noteOverflow);

  function emit<T extends BusTopic>(topic: T, payload: BusPayloads[T]): void {
    const seq = queue.put(routes.get(topic), payload);
    if (seq > 0) history.put(seq, topic, payload);
  }

  function handOut(seq: number, route: Route, payload: unknown): void {
    deliver(route, payload);
    if (route.sinks.length > 0) for (const sink of route.sinks) sink.put(seq, route.topic, payload);
  }

  function report(topic: BusTopic, error: unknown): void {
    const message = `A listener of ${topic} failed: ${describeThrown(error)}`;
    if (topic === BusTopic.WARNING) reportUnreportable(options, message); // E2: no recursion
    else emit(BusTopic.WARNING, { source: 'bus', message });
  }

  function noteOverflow({ topic }: Route): void {
    const message = `More than ${maxPending} events wait for delivery; events from ${topic} on were dropped.`;
    reportUnreportable(options, message);
  }

  return {
    emit,
    emitSafe: emit,
    on: <T extends BusTopic>(topic: T, listener: BusListener<T>) =>
      routes.addListener(topic, listener as Registration['listener']),
    listeners: <T extends BusTopic>(topic: T) =>
      routes.get(topic).registrations.map((one) => one.listener as BusListener<T>),
    subscribe(topics, subscribeOptions) {
      const wanted = typeof topics === 'string' ? [topics] : [...new Set(topics)];
      const { subscription, sink } = createSubscription(wanted, subscribeOptions, {
        history,
        lastSeq: queue.lastSeq(),
        detach: (gone) => routes.removeSink(wanted, gone),
      });
      if (!sink.isClosed()) routes.addSink(wanted, sink);
      return subscription;
    },
    lastSeq: queue.lastSeq,
    clear: () => routes.clear(),
  };
}

function reportUnreportable({ onUnreportable }: BusOptions, message: string): void {
  try {
    onUnreportable?.(message);
  } catch {
    // The last receiver of failures has failed; the work continues (invariant 9).
  }
}
