import type { BusTopic } from '@caisson/protocol';

import type { EventSink } from './subscription.ts';

export interface Registration {
  readonly listener: (payload: unknown) => unknown;
  isActive: boolean;
}

/** The listeners of a topic. Never changed, only replaced: an emission keeps the one it found (E4) at no cost. */
export interface Route {
  readonly topic: BusTopic;
  readonly registrations: readonly Registration[];
  readonly sinks: readonly EventSink[];
}

export interface Routes {
  get(topic: BusTopic): Route;
  /** Adds a listener; the returned function removes it, idempotently. */
  addListener(topic: BusTopic, listener: Registration['listener']): () => void;
  addSink(topics: readonly BusTopic[], sink: EventSink): void;
  removeSink(topics: readonly BusTopic[], sink: EventSink): void;
  /** Removes all listeners and ends every sink. */
  clear(): void;
}

/** All listeners of one bus, by topic. */
export function createRoutes(): Routes {
  const routes = new Map<BusTopic, Route>();
  const get = (topic: BusTopic): Route => routes.get(topic) ?? { topic, registrations: [], sinks: [] };
  const update = (topic: BusTopic, change: (route: Route) => Partial<Route>): void => {
    const route = get(topic);
    routes.set(topic, { ...route, ...change(route) });
  };

  return {
    get,
    addListener(topic, listener) {
      const registration: Registration = { listener, isActive: true };
      update(topic, (route) => ({ registrations: [...route.registrations, registration] }));
      return () => {
        if (!registration.isActive) return;
        registration.isActive = false;
        update(topic, (route) => ({
          registrations: route.registrations.filter((one) => one !== registration),
        }));
      };
    },
    addSink(topics, sink) {
      for (const topic of topics) update(topic, (route) => ({ sinks: [...route.sinks, sink] }));
    },
    removeSink(topics, sink) {
      for (const topic of topics)
        update(topic, (route) => ({ sinks: route.sinks.filter((one) => one !== sink) }));
    },
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
