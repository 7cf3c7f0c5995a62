import { setImmediate as nextMacrotask } from 'node:timers/promises';

import { BusTopic } from '@caisson/protocol';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';

import { createBus, type BusEvent, type BusGap, type BusSubscription, type SafeEventBus } from './index.ts';

const CHANGED = BusTopic.CONFIG_CHANGED;
const WARNING = BusTopic.WARNING;

type Item = BusEvent<BusTopic> | BusGap;

function emitKeys(bus: SafeEventBus, ...keys: string[]): void {
  for (const key of keys) bus.emit(CHANGED, { key, previous: 0, new: 1 });
}

/** Takes what is there. The last use of a subscription: its open `next` would take an event more. */
async function takeAll(subscription: BusSubscription<BusTopic>): Promise<string[]> {
  await nextMacrotask();
  const items: Item[] = [];
  for (;;) {
    const next = await Promise.race([subscription.next(), nextMacrotask(null)]);
    if (next === null || next.done === true) return items.map(brief);
    items.push(next.value);
  }
}

async function nextItem(subscription: BusSubscription<typeof CHANGED>): Promise<Item> {
  const next = await subscription.next();
  if (next.done === true) throw new Error('the subscription ended early');
  return next.value;
}

function brief(item: Item): string {
  if (item.kind === 'gap') return `gap ${item.from}-${item.to}`;
  return item.topic === CHANGED ? `${item.seq}:${item.payload.key}` : `${item.seq}:${item.topic}`;
}

test('a subscriber gets the events of its topics, numbered and in order', async () => {
  const bus = createBus();
  const subscription = bus.subscribe([CHANGED, WARNING], { maxQueue: 10 });
  emitKeys(bus, 'a');
  bus.emit(BusTopic.SESSION_RESET, {});
  bus.emit(WARNING, { source: 's', message: 'm' });
  emitKeys(bus, 'b');
  expect(await takeAll(subscription)).toEqual(['1:a', '3:caisson:warning', '4:b']);
});

test('a consumer that waits is woken by the next event', async () => {
  const bus = createBus();
  const subscription = bus.subscribe(CHANGED, { maxQueue: 1 });
  const [first, second] = [subscription.next(), subscription.next()];
  emitKeys(bus, 'a', 'b');
  expect([(await first).value, (await second).value]).toMatchObject([{ seq: 1 }, { seq: 2 }]);
});

test('a slow consumer costs maxQueue items and gets one gap, then follows again', async () => {
  const bus = createBus();
  const subscription = bus.subscribe(CHANGED, { maxQueue: 3 });
  emitKeys(bus, ...Array.from({ length: 1000 }, (_, i) => `${i + 1}`));
  await nextMacrotask();
  expect((await subscription.next()).value).toMatchObject({ seq: 1 });
  emitKeys(bus, 'still missed');
  await nextMacrotask();
  const rest = [await nextItem(subscription), await nextItem(subscription), await nextItem(subscription)];
  expect(rest.map(brief)).toEqual(['2:2', '3:3', 'gap 4-1001']);
  emitKeys(bus, 'live');
  expect(await takeAll(subscription)).toEqual(['1002:live']);
});

test('a subscriber gets nothing from before its time unless it asks', async () => {
  const bus = createBus();
  emitKeys(bus, 'before');
  const subscription = bus.subscribe(CHANGED, { maxQueue: 3 });
  emitKeys(bus, 'after');
  expect(await takeAll(subscription)).toEqual(['2:after']);
});

test('after continues behind a number without a hole or a double, also while events are under way', async () => {
  const bus = createBus();
  emitKeys(bus, 'a', 'b', 'c');
  await nextMacrotask();
  emitKeys(bus, 'd'); // emitted, not yet delivered
  const subscription = bus.subscribe(CHANGED, { maxQueue: 10, after: 2 });
  emitKeys(bus, 'e');
  expect(await takeAll(subscription)).toEqual(['3:c', '4:d', '5:e']);
});

test('what the bus no longer remembers is one gap at the beginning', async () => {
  const bus = createBus({ historySize: 4 });
  emitKeys(bus, 'a', 'b', 'c', 'd', 'e', 'f');
  const subscription = bus.subscribe(CHANGED, { maxQueue: 10, after: 0 });
  expect(await takeAll(subscription)).toEqual(['gap 1-2', '3:c', '4:d', '5:e', '6:f']);
});

test('a number that this bus has not given is refused with the reason', () => {
  const bus = createBus();
  expect(() => bus.subscribe(CHANGED, { maxQueue: 1, after: 7 })).toThrow('continue from the ledger');
  expect(() => bus.subscribe(CHANGED, { maxQueue: 0 })).toThrow(RangeError);
});

test('leaving a loop ends the subscription', async () => {
  const bus = createBus();
  const subscription = bus.subscribe(CHANGED, { maxQueue: 10 });
  emitKeys(bus, 'a', 'b');
  for await (const item of subscription) {
    expect(item).toMatchObject({ seq: 1 });
    break;
  }
  emitKeys(bus, 'c');
  expect(await subscription.next()).toEqual({ done: true, value: undefined });
});

test('an abort wakes a waiting consumer and ends its loop', async () => {
  const bus = createBus();
  const controller = new AbortController();
  const subscription = bus.subscribe(CHANGED, { maxQueue: 10, signal: controller.signal });
  const waiting = subscription.next();
  controller.abort();
  expect(await waiting).toEqual({ done: true, value: undefined });
  const late = bus.subscribe(CHANGED, { maxQueue: 10, signal: controller.signal });
  expect(await late.next()).toEqual({ done: true, value: undefined });
});

test('clear ends subscriptions after what they already hold', async () => {
  const bus = createBus();
  const subscription = bus.subscribe(CHANGED, { maxQueue: 10 });
  emitKeys(bus, 'a');
  await nextMacrotask();
  bus.clear();
  emitKeys(bus, 'b');
  expect(await takeAll(subscription)).toEqual(['1:a']);
  expect(await subscription.next()).toEqual({ done: true, value: undefined });
});

test('whatever the pace, events and gaps together account for every number exactly once', async () => {
  const step = fc.oneof(
    fc.record({ emit: fc.integer({ min: 1, max: 12 }) }),
    fc.record({ take: fc.integer({ min: 1, max: 12 }) }),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 30 }),
      fc.integer({ min: 1, max: 8 }),
      async (steps, maxQueue) => {
        const bus = createBus();
        const subscription = bus.subscribe(CHANGED, { maxQueue });
        const accounted: number[] = [];
        const account = (item: Item): void => {
          if (item.kind === 'event') accounted.push(item.seq);
          else for (let seq = item.from; seq <= item.to; seq++) accounted.push(seq);
        };
        for (const one of steps) {
          if ('emit' in one) emitKeys(bus, ...Array<string>(one.emit).fill('k'));
          await nextMacrotask();
          // Never asks for more than there is: a consumer that waits is not slow.
          for (let i = 0; 'take' in one && i < one.take && accounted.length < bus.lastSeq(); i++) {
            account(await nextItem(subscription));
          }
        }
        while (accounted.length < bus.lastSeq()) account(await nextItem(subscription));
        expect(accounted).toEqual(Array.from({ length: bus.lastSeq() }, (_, i) => i + 1));
      },
    ),
    { numRuns: 60 },
  );
});
