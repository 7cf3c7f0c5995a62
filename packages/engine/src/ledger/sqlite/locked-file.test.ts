import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { expect, onTestFinished, test } from 'vitest';
import { LedgerBusyError } from '../errors.ts';
import { lockLedger } from '../fixtures/lock-ledger.ts';
import { fact } from '../fixtures/sample-events.ts';
import { openLedger, type FileLedgerOptions, type Ledger } from '../index.ts';
import { openThreadLedger } from './thread-ledger-stage.ts';

const LOCKED_MS = 1500;
/** One look of each of the two that wait takes 20 ms; the rest is for a busy machine. */
const MOST_MS = 500;

function makeFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-locked-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'ledger.db');
}

/** How long the event loop stood still at most. */
async function measure(work: () => Promise<unknown>): Promise<number> {
  const delays = monitorEventLoopDelay({ resolution: 10 });
  delays.enable();
  await work();
  delays.disable();
  return delays.max / 1e6;
}

test.each([
  ['commits itself', (file: string) => Promise.resolve(openLedger(file))],
  ['has a thread that commits', openThreadLedger],
])('while another process writes, the event loop of one that %s stays free', async (_who, open) => {
  const file = makeFile();
  const ledger: Ledger = await open(file);
  await ledger.append([fact('run_a')]);
  const unlock = lockLedger(file);
  const { leases, kv, whenFree } = ledger;
  const order: string[] = [];
  const longestMs = await measure(async () => {
    const writes = [
      ledger.append([fact('run_a')]),
      whenFree(() => kv.set('s', 'a', 1)).then(() => order.push('value')),
      ...['h1', 'h2', 'h3', 'h4'].map((host) =>
        whenFree(() => leases.tryHold('one', host)).then((has) => order.push(`${host} ${has}`)),
      ),
    ];
    await new Promise((resolve) => setTimeout(resolve, LOCKED_MS));
    expect(order).toEqual([]);
    unlock();
    await Promise.all(writes);
  });
  expect(longestMs).toBeLessThan(MOST_MS);
  expect(order).toEqual(['value', 'h1 true', 'h2 false', 'h3 false', 'h4 false']);
  expect([kv.get('s', 'a'), ledger.lastOffset()]).toEqual([1, 2]);
  await ledger.close();
});

async function refuse(options: FileLedgerOptions, write: (ledger: Ledger) => unknown): Promise<unknown> {
  const file = makeFile();
  const ledger = openLedger(file, options);
  await ledger.append([fact('run_a')]);
  const unlock = lockLedger(file);
  try {
    return await write(ledger);
  } catch (error) {
    return error;
  } finally {
    unlock();
    await ledger.close();
  }
}

test('a write that waits for the lock is refused in the end, and so is one that cannot wait', async () => {
  const waits = await refuse({ patienceMs: 200 }, ({ whenFree, kv }) => whenFree(() => kv.set('s', 'a', 1)));
  expect(waits).toBeInstanceOf(LedgerBusyError);
  const startMs = performance.now();
  const blocks = await refuse({ blocksMs: 100 }, ({ kv }) => kv.set('s', 'a', 1));
  expect(blocks).toBeInstanceOf(LedgerBusyError);
  expect(performance.now() - startMs).toBeLessThan(4000); // five seconds are the default
});
