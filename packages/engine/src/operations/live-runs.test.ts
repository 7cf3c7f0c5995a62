import { LiveCount } from '@caisson/protocol';
import { expect, it } from 'vitest';
import type { Engine } from '../engine.ts';
import { accepted, fact, launched, started } from '../ledger/fixtures/sample-events.ts';
import { createMemoryLedger, type Ledger } from '../ledger/index.ts';
import { findLive } from './live-runs.ts';

const RUNS = 6;
const EVENTS = 1000;

async function fill(): Promise<Ledger> {
  const ledger = createMemoryLedger();
  for (let index = 0; index < RUNS; index += 1) {
    const id = `run_${index}`;
    await ledger.append([accepted(id), launched(id, 1), started(id, 1)]);
    await ledger.append(Array.from({ length: EVENTS }, () => fact(id)));
  }
  return ledger;
}

/** The same ledger, and the most events that its readers had at once. */
function watchReading(ledger: Ledger): { ledger: Ledger; most(): number } {
  let [held, most] = [0, 0];
  const hold = (count: number): void => void (most = Math.max(most, (held += count)));
  const watched: Ledger = {
    ...ledger,
    async readRun(...args) {
      const events = await ledger.readRun(...args);
      hold(events.length); // and has them for as long as it wants
      return events;
    },
    async *pageRun(...args) {
      for await (const page of ledger.pageRun(...args)) {
        hold(page.length);
        yield page;
        held -= page.length;
      }
    },
  };
  return { ledger: watched, most: () => most };
}

it('a list of long runs whose host does not answer holds some events of one of them at a time', async () => {
  const whole = await fill();
  const { ledger, most } = watchReading(whole);
  const hosts = { order: () => Promise.reject(new Error('no answer in time')), isAlive: async () => false };
  const engine = { ledger, hosts, hostId: 'host_own', live: { read: () => null } } as unknown as Engine;
  const rows = ledger.runs();
  const live = await findLive(engine, rows);
  expect(most()).toBeLessThanOrEqual(256);
  for (const { runId, acceptedAt } of rows) {
    const count = new LiveCount(acceptedAt);
    for (const event of await whole.readRun(runId)) count.add(event);
    expect(live.get(runId)).toEqual(count.read('ledger'));
  }
  expect(live.size).toBe(RUNS);
});
