import { BusTopic, type BusPayloads } from '@caisson/protocol';

import type { BusLike } from './contract.ts';
import { describeThrown } from './describe-thrown.ts';

/**
 * Emits on any object that can list its listeners, with the promises of `emit`: it never throws and runs no listener
 * before the caller's own code has returned. A bus with its own `emitSafe` is used directly.
 */
export function emitSafe<T extends BusTopic>(bus: BusLike, topic: T, payload: BusPayloads[T]): void {
  try {
    if (hasEmitSafe(bus)) return bus.emitSafe(topic, payload);
    const listeners = bus.listeners(topic) as readonly Listener[];
    if (listeners.length > 0) queueMicrotask(() => deliverAll(bus, topic, [...listeners], payload));
  } catch (error) {
    warn(bus, topic, error);
  }
}

type Listener = (payload: unknown) => unknown;
type Emitter = { emitSafe(topic: BusTopic, payload: unknown): void };

function hasEmitSafe(bus: BusLike): bus is BusLike & Emitter {
  return 'emitSafe' in bus && typeof bus.emitSafe === 'function';
}

function deliverAll(bus: BusLike, topic: BusTopic, listeners: readonly Listener[], payload: unknown): void {
  for (const listener of listeners) {
    try {
      // Removed since the emission: it must not fire.
      if (!(bus.listeners(topic) as readonly Listener[]).includes(listener)) continue;
      const returned = listener(payload);
      if (typeof returned !== 'object' || returned === null || !('then' in returned)) continue;
      Promise.resolve(returned).then(undefined, (error: unknown) => warn(bus, topic, error));
    } catch (error) {
      warn(bus, topic, error);
    }
  }
}

/** On the warning topic of the same object, and never about that topic itself. */
function warn(bus: BusLike, topic: BusTopic, error: unknown): void {
  if (topic === BusTopic.WARNING) return;
  const message = `A listener of ${topic} failed: ${describeThrown(error)}`;
  emitSafe(bus, BusTopic.WARNING, { source: 'bus', message });
}
