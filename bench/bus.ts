// The bus against one that isolates in the straightforward way, one that is async, and one that isolates nothing. 10
// listeners, bursts of 1024; a burst counts when every listener has received every event of it.
import { BusTopic, type BusPayloads } from '@caisson/protocol';
import Emittery from 'emittery';
import { EventEmitter } from 'eventemitter3';

import { createBus } from '../packages/engine/src/bus/index.ts';
import { measureInTurns } from './alternate.ts';
import type { BenchRow } from './bench-row.ts';

const LISTENERS = 10;
const BURST = 1024;
const ROUNDS = 9;
const TOPIC = BusTopic.CONFIG_CHANGED;

type Payload = BusPayloads[typeof TOPIC];
type Listener = (payload: Payload) => void;
type Burst = () => void | Promise<unknown>;

const PAYLOAD: Payload = { key: 'limits.concurrency', previous: 2, new: 4 };

export async function run(): Promise<BenchRow[]> {
  const rates = await measureInTurns(ROUNDS, {
    ours: () => eventsPerSecond(createCaissonBurst, 300),
    perListener: () => eventsPerSecond(createPerListenerBurst, 20),
    emittery: () => eventsPerSecond(createEmitteryBurst, 20),
    eventemitter3: () => eventsPerSecond(createEventEmitterBurst, 300),
  });
  const row = (peer: string, peerValue: number, least: number, target: string): BenchRow => ({
    name: `bus: ${LISTENERS} listeners, bursts of ${BURST}, throws and rejections isolated`,
    value: rates.ours,
    unit: 'events/s',
    peer,
    peerValue,
    ratio: rates.ours / peerValue,
    target,
    met: rates.ours / peerValue >= least,
  });
  return [
    row('a microtask and a promise per listener', rates.perListener, 15, '>= 15x'),
    row('emittery', rates.emittery, 1, '> 1x'),
    row('eventemitter3, which isolates nothing', rates.eventemitter3, 0.5, '>= 0.5x'),
  ];
}

async function eventsPerSecond(
  createBurst: (listeners: Listener[]) => Burst,
  bursts: number,
): Promise<number> {
  let received = 0;
  const listeners = Array.from({ length: LISTENERS }, () => (payload: Payload) => {
    received += payload.key.length > 0 ? 1 : 0;
  });
  const burst = createBurst(listeners);
  const startedAt = performance.now();
  for (let i = 0; i < bursts; i++) await burst();
  const seconds = (performance.now() - startedAt) / 1000;
  if (received !== bursts * BURST * LISTENERS)
    throw new Error(`${received} deliveries: the measurement is wrong`);
  return (bursts * BURST) / seconds;
}

function createCaissonBurst(listeners: Listener[]): Burst {
  const bus = createBus();
  for (const listener of listeners) bus.on(TOPIC, listener);
  return () => {
    for (let i = 0; i < BURST; i++) bus.emit(TOPIC, PAYLOAD);
    // The drain was queued before this continuation, so awaiting one turn is awaiting the delivery.
    return Promise.resolve();
  };
}

/** The straightforward way to isolate: each delivery is a microtask with a promise chain of its own. */
function createPerListenerBurst(listeners: Listener[]): Burst {
  const emit = (payload: Payload): void => {
    for (const listener of listeners) {
      queueMicrotask(() => {
        Promise.resolve()
          .then(() => listener(payload))
          .catch(() => {});
      });
    }
  };
  return () => {
    for (let i = 0; i < BURST; i++) emit(PAYLOAD);
    return new Promise<void>((resolve) => void setImmediate(resolve));
  };
}

function createEmitteryBurst(listeners: Listener[]): Burst {
  const emitter = new Emittery<Record<typeof TOPIC, Payload>>();
  for (const listener of listeners) emitter.on(TOPIC, listener);
  return () => Promise.all(Array.from({ length: BURST }, () => emitter.emit(TOPIC, PAYLOAD)));
}

function createEventEmitterBurst(listeners: Listener[]): Burst {
  const emitter = new EventEmitter();
  for (const listener of listeners) emitter.on(TOPIC, listener);
  return () => {
    for (let i = 0; i < BURST; i++) emitter.emit(TOPIC, PAYLOAD);
  };
}
