import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { LedgerBusyError, LedgerClosedError } from '../errors.ts';
import { lockLedger } from '../fixtures/lock-ledger.ts';
import { fact } from '../fixtures/sample-events.ts';
import { openLedger, type FileLedgerOptions, type Ledger } from '../index.ts';
import { openThreadLedger } from './thread-ledger-stage.ts';

/** While the ledger is locked its event loop must come round so often. One that is held comes round once in five seconds. */
const ROUNDS = 30;
const ROUND_MS = 50;
const HELD_LIMIT_MS = 60_000;

function makeFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-locked-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'ledger.db');
}

async function comeRound(times: number): Promise<void> {
  for (let round = 0; round < times; round += 1)
    await new Promise((resolve) => setTimeout(resolve, ROUND_MS));
}

test.each([
  ['commits itself', (file: string) => Promise.resolve(openLedger(file))],
  ['has a thread that commits', openThreadLedger],
])(
  'while another process writes, the event loop of one that %s stays free',
  async (_who, open) => {
    const file = makeFile();
    const ledger: Ledger = await open(file);
    await ledger.append([fact('run_a')]);
    const unlock = lockLedger(file);
    const { leases, kv, whenFree } = ledger;
    const order: string[] = [];
    const writes = [
      ledger.append([fact('run_a')]),
      whenFree(() => kv.set('s', 'a', 1)).then(() => order.push('value')),
      ...['h1', 'h2', 'h3', 'h4'].map((host) =>
        whenFree(() => leases.tryHold('one', host)).then((has) => order.push(`${host} ${has}`)),
      ),
    ];
    await comeRound(ROUNDS);
    expect(order).toEqual([]);
    unlock();
    await Promise.all(writes);
    expect(order).toEqual(['value', 'h1 true', 'h2 false', 'h3 false', 'h4 false']);
    expect([kv.get('s', 'a'), ledger.lastOffset()]).toEqual([1, 2]);
    await ledger.close();
  },
  HELD_LIMIT_MS,
);

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

test('a ledger that is closed finishes what waits for the lock first, and takes nothing new', async () => {
  const ledger = openLedger(makeFile());
  await ledger.append([fact('run_a')]);
  const unlock = lockLedger(ledger.file ?? '');
  const { leases, whenFree } = ledger;
  const writes = ['h1', 'h2'].map((host) => whenFree(() => leases.tryHold('one', host)));
  const closed = ledger.close();
  await expect(whenFree(() => leases.tryHold('two', 'h1'))).rejects.toThrow(LedgerClosedError);
  expect(await Promise.race([closed, comeRound(3).then(() => 'waits')])).toBe('waits');
  unlock();
  expect(await Promise.all(writes)).toEqual([true, false]);
  await closed;
});

test('a ledger that is closed and stays locked refuses what waits, and closes', async () => {
  const ledger = openLedger(makeFile(), { patienceMs: 200 });
  await ledger.append([fact('run_a')]);
  const unlock = lockLedger(ledger.file ?? '');
  onTestFinished(unlock);
  const write = ledger.whenFree(() => ledger.kv.set('s', 'a', 1));
  const refused = expect(write).rejects.toThrow(LedgerBusyError);
  await ledger.close();
  await refused;
});

test('who waits for the lock, first or in line, is aborted at once, and writes nothing later', async () => {
  const ledger = openLedger(makeFile());
  onTestFinished(() => ledger.close());
  await ledger.append([fact('run_a')]);
  const unlock = lockLedger(ledger.file ?? '');
  onTestFinished(unlock);
  const { kv, whenFree } = ledger;
  const stop = new AbortController();
  const aborted = ['a', 'b'].map((key) => whenFree(() => kv.set('s', key, 1), stop.signal));
  const last = whenFree(() => kv.set('s', 'c', 1));
  stop.abort(new Error('stopped'));
  for (const write of aborted) await expect(write).rejects.toThrow('stopped');
  unlock();
  await last;
  expect(kv.list('s').map(({ key }) => key)).toEqual(['c']);
});
