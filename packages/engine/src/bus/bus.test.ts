import { setImmediate as nextMacrotask } from 'node:timers/promises';

import { BusTopic } from '@caisson/protocol';
import { describe, expect, test } from 'vitest';

import { createBus, emitSafe, type BusLike, type SafeEventBus } from './index.ts';

const CHANGED = BusTopic.CONFIG_CHANGED;
const RELOADED = BusTopic.EXTENSIONS_RELOADED;
const WARNING = BusTopic.WARNING;

const change = (key: string) => ({ key, previous: 0, new: 1 });

/** Everything that the microtask queue holds, and what that adds, has run after this. */
const delivered = (): Promise<void> => nextMacrotask();

function collect(bus: SafeEventBus): { keys: string[]; warnings: string[] } {
  const seen = { keys: [] as string[], warnings: [] as string[] };
  bus.on(CHANGED, ({ key }) => void seen.keys.push(key));
  bus.on(WARNING, ({ message }) => void seen.warnings.push(message));
  return seen;
}

describe('delivery', () => {
  test('no listener runs before the emitter has returned', async () => {
    const bus = createBus();
    const seen = collect(bus);
    bus.emit(CHANGED, change('a'));
    expect(seen.keys).toEqual([]);
    await delivered();
    expect(seen.keys).toEqual(['a']);
  });

  test('a whole burst is delivered in one turn of the microtask queue', async () => {
    const bus = createBus();
    const seen = collect(bus);
    for (let i = 0; i < 1000; i++) bus.emit(CHANGED, change(`${i}`));
    await Promise.resolve();
    expect(seen.keys.length).toBe(1000);
  });

  test('order is the order of emission, per topic and across topics, for every listener', async () => {
    const bus = createBus();
    const first: string[] = [];
    const second: string[] = [];
    for (const list of [first, second]) {
      bus.on(CHANGED, ({ key }) => void list.push(key));
      bus.on(RELOADED, ({ changed }) => void list.push(...changed));
    }
    const expected = Array.from({ length: 500 }, (_, i) => `${i}`);
    for (const [i, name] of expected.entries()) {
      if (i % 3 === 0) bus.emit(RELOADED, { changed: [name] });
      else bus.emit(CHANGED, change(name));
    }
    await delivered();
    expect(first).toEqual(expected);
    expect(second).toEqual(expected);
  });

  test('what a listener emits comes after everything emitted before it', async () => {
    const bus = createBus();
    const seen: string[] = [];
    bus.on(CHANGED, ({ key }) => {
      seen.push(key);
      if (key === 'a') bus.emit(CHANGED, change('answer'));
    });
    bus.emit(CHANGED, change('a'));
    bus.emit(CHANGED, change('b'));
    await delivered();
    expect(seen).toEqual(['a', 'b', 'answer']);
  });

  test('emitting without any listener is fine', () => {
    expect(() => createBus().emit(CHANGED, change('x'))).not.toThrow();
  });
});

describe('isolation', () => {
  test('a listener that throws disturbs no other and is reported once per failure', async () => {
    const bus = createBus();
    bus.on(CHANGED, () => {
      throw new Error('boom');
    });
    const seen = collect(bus);
    bus.emit(CHANGED, change('a'));
    bus.emit(CHANGED, change('b'));
    await delivered();
    expect(seen.keys).toEqual(['a', 'b']);
    expect(seen.warnings).toEqual(Array(2).fill('A listener of caisson:config-changed failed: Error: boom'));
  });

  test('a listener that rejects disturbs no other and is reported', async () => {
    const bus = createBus();
    bus.on(CHANGED, async () => {
      await nextMacrotask();
      throw new Error('later');
    });
    const seen = collect(bus);
    const warned = new Promise<void>((resolve) => void bus.on(WARNING, () => resolve()));
    bus.emit(CHANGED, change('a'));
    await warned;
    expect(seen).toEqual({
      keys: ['a'],
      warnings: ['A listener of caisson:config-changed failed: Error: later'],
    });
  });

  test('a listener that never settles delays no other', async () => {
    const bus = createBus();
    bus.on(CHANGED, () => new Promise(() => {}));
    const seen = collect(bus);
    bus.emit(CHANGED, change('a'));
    bus.emit(CHANGED, change('b'));
    await delivered();
    expect(seen.keys).toEqual(['a', 'b']);
  });

  test('things that fight back when thrown or returned are survived', async () => {
    const bus = createBus();
    const hostile = Object.create(null, {
      message: {
        get: () => {
          throw new Error('no');
        },
      },
    }) as object;
    const thrown: unknown[] = [
      null,
      undefined,
      Symbol('s'),
      hostile,
      new Proxy(
        {},
        {
          get: () => {
            throw hostile;
          },
        },
      ),
    ];
    for (const one of thrown)
      bus.on(CHANGED, () => {
        throw one;
      });
    bus.on(CHANGED, () => ({
      then: () => {
        throw new Error('bad thenable');
      },
    }));
    bus.on(CHANGED, () => ({
      get then() {
        throw new Error('bad getter');
      },
    }));
    const seen = collect(bus);
    bus.emit(CHANGED, change('a'));
    await delivered();
    expect(seen.keys).toEqual(['a']);
    expect(seen.warnings.length).toBe(thrown.length + 2);
  });

  test('a warning listener that fails is not reported on the warning topic', async () => {
    const unreportable: string[] = [];
    const bus = createBus({ onUnreportable: (message) => unreportable.push(message) });
    let calls = 0;
    bus.on(WARNING, () => {
      calls += 1;
      throw new Error('warning listener');
    });
    bus.on(WARNING, () => Promise.reject(new Error('async warning listener')));
    const seen = collect(bus);
    bus.emit(WARNING, { source: 'test', message: 'one' });
    await delivered();
    expect(calls).toBe(1);
    expect(seen.warnings).toEqual(['one']);
    expect(unreportable).toEqual([
      'A listener of caisson:warning failed: Error: warning listener',
      'A listener of caisson:warning failed: Error: async warning listener',
    ]);
  });

  test('a reporter that throws is the end of the report, not of the work', async () => {
    const bus = createBus({
      onUnreportable: () => {
        throw new Error('reporter');
      },
    });
    bus.on(WARNING, () => {
      throw new Error('x');
    });
    const seen = collect(bus);
    bus.emit(WARNING, { source: 'test', message: 'one' });
    await delivered();
    expect(seen.warnings).toEqual(['one']);
  });

  test('listeners that answer each other for ever do not starve the process', async () => {
    const bus = createBus();
    let rounds = 0;
    bus.on(CHANGED, () => {
      rounds += 1;
      bus.emit(CHANGED, change('again'));
    });
    bus.emit(CHANGED, change('first'));
    await nextMacrotask();
    expect(rounds).toBeGreaterThan(0);
    bus.clear();
    await nextMacrotask();
    const roundsAtClear = rounds;
    await nextMacrotask();
    expect(rounds).toBe(roundsAtClear);
  });

  test('events beyond the bound of the pending queue are dropped and reported once', async () => {
    const unreportable: string[] = [];
    const bus = createBus({ maxPending: 3, onUnreportable: (message) => unreportable.push(message) });
    const seen = collect(bus);
    for (const key of ['a', 'b', 'c', 'd', 'e']) bus.emit(CHANGED, change(key));
    await delivered();
    expect(seen.keys).toEqual(['a', 'b', 'c']);
    expect(unreportable.length).toBe(1);
    bus.emit(CHANGED, change('f'));
    await delivered();
    expect(seen.keys).toEqual(['a', 'b', 'c', 'f']);
  });
});

describe('coming and going', () => {
  test('a listener removed before delivery does not fire', async () => {
    const bus = createBus();
    const seen: string[] = [];
    const off = bus.on(CHANGED, ({ key }) => void seen.push(key));
    bus.emit(CHANGED, change('a'));
    off();
    off();
    await delivered();
    expect(seen).toEqual([]);
    expect(bus.listeners(CHANGED)).toEqual([]);
  });

  test('a listener removed by another one during delivery does not fire, the rest do', async () => {
    const bus = createBus();
    const seen: string[] = [];
    const offs: (() => void)[] = [];
    bus.on(CHANGED, () => offs.forEach((off) => off()));
    offs.push(bus.on(CHANGED, () => void seen.push('removed')));
    bus.on(CHANGED, () => void seen.push('stays'));
    bus.emit(CHANGED, change('a'));
    await delivered();
    expect(seen).toEqual(['stays']);
  });

  test('a listener that removes itself does not make its neighbour miss the event', async () => {
    const bus = createBus();
    const seen: string[] = [];
    const off = bus.on(CHANGED, () => {
      seen.push('once');
      off();
    });
    bus.on(CHANGED, () => void seen.push('neighbour'));
    bus.emit(CHANGED, change('a'));
    bus.emit(CHANGED, change('b'));
    await delivered();
    expect(seen).toEqual(['once', 'neighbour', 'neighbour']);
  });

  test('a listener added after an emission, or during its delivery, gets only later ones', async () => {
    const bus = createBus();
    const seen: string[] = [];
    bus.on(CHANGED, ({ key }) => {
      if (key === 'a') bus.on(CHANGED, (later) => void seen.push(`during ${later.key}`));
    });
    bus.emit(CHANGED, change('a'));
    bus.on(CHANGED, ({ key }) => void seen.push(`after ${key}`));
    await delivered();
    expect(seen).toEqual([]);
    bus.emit(CHANGED, change('b'));
    await delivered();
    expect(seen).toEqual(['after b', 'during b']);
  });

  test('the same function added twice is two registrations', async () => {
    const bus = createBus();
    let calls = 0;
    const listener = (): void => void (calls += 1);
    const off = bus.on(CHANGED, listener);
    bus.on(CHANGED, listener);
    expect(bus.listeners(CHANGED)).toEqual([listener, listener]);
    off();
    bus.emit(CHANGED, change('a'));
    await delivered();
    expect(calls).toBe(1);
  });

  test('clear removes all listeners, also from what is not yet delivered', async () => {
    const bus = createBus();
    const seen = collect(bus);
    bus.emit(CHANGED, change('a'));
    bus.clear();
    await delivered();
    expect(seen.keys).toEqual([]);
    const again = collect(bus);
    bus.emit(CHANGED, change('b'));
    await delivered();
    expect(again.keys).toEqual(['b']);
  });

  test('the array from listeners is a copy', () => {
    const bus = createBus();
    bus.on(CHANGED, () => {});
    bus.listeners(CHANGED).pop();
    expect(bus.listeners(CHANGED).length).toBe(1);
  });
});

describe('emitSafe', () => {
  test('keeps its place among the emissions of a real bus', async () => {
    const bus = createBus();
    const seen = collect(bus);
    bus.emit(CHANGED, change('a'));
    emitSafe(bus, CHANGED, change('b'));
    bus.emitSafe(CHANGED, change('c'));
    await delivered();
    expect(seen.keys).toEqual(['a', 'b', 'c']);
  });

  test('isolates the listeners of any bus-like object and honours removal before delivery', async () => {
    const seen: string[] = [];
    const removed = (): void => void seen.push('removed');
    let listeners = [
      () => {
        throw new Error('sync');
      },
      () => Promise.reject(new Error('async')),
      removed,
      () => void seen.push('good'),
    ];
    const warnings: string[] = [];
    const onWarning = ({ message }: { message: string }): void => void warnings.push(message);
    const busLike: BusLike = {
      listeners: (topic) => (topic === WARNING ? [onWarning] : listeners),
    };
    emitSafe(busLike, CHANGED, change('a'));
    expect(seen).toEqual([]);
    listeners = listeners.filter((listener) => listener !== removed);
    await delivered();
    expect(seen).toEqual(['good']);
    expect(warnings).toEqual([
      'A listener of caisson:config-changed failed: Error: sync',
      'A listener of caisson:config-changed failed: Error: async',
    ]);
  });

  test('an object whose listeners() throws does not throw at the emitter', async () => {
    const broken: BusLike = {
      listeners: () => {
        throw new Error('broken');
      },
    };
    expect(() => emitSafe(broken, CHANGED, change('a'))).not.toThrow();
    await delivered();
  });
});
