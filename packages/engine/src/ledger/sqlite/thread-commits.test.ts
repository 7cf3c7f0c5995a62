import { execFile } from 'node:child_process';
import { mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { threadCpuUsage } from 'node:process';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { isOutage, LedgerGoneError, LedgerIoError } from '../errors.ts';
import { fact } from '../fixtures/sample-events.ts';
import { openLedger, type Ledger, type LedgerChange } from '../index.ts';
import { openWithThread } from './open-with-thread.ts';
import { buildThread, openThreadLedger } from './thread-ledger-stage.ts';

const run = promisify(execFile);
const LEAVES = fileURLToPath(new URL('../fixtures/append-and-leave.ts', import.meta.url));
const ENDS = fileURLToPath(new URL('../fixtures/ends-when-asked.mjs', import.meta.url));

let folder: string;
let file: string;
/** Threads of the ledger that have not ended. */
let underWay = 0;
process.on('worker', (worker) => {
  underWay += 1;
  worker.once('exit', () => (underWay -= 1));
});
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'caisson-thread-'));
  file = join(folder, 'ledger.db');
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
});

test('a process that records little starts no thread', async () => {
  let starts = 0;
  const onStart = (): void => void (starts += 1);
  process.on('worker', onStart);
  onTestFinished(() => void process.off('worker', onStart));
  const { promise: isReady, resolve: onThreadReady } = Promise.withResolvers<void>();
  const { ledger } = openWithThread(file, { threadEntry: await buildThread(), onThreadReady });
  for (let count = 0; count < 40; count += 1) await ledger.append([fact('run_a')]);
  expect(starts).toBe(0);
  await ledger.append([fact('run_a')]);
  await isReady;
  expect(starts).toBe(1);
  await ledger.close();
});

test('a thread that cannot be started costs nothing but the thread', async () => {
  const ledger = openLedger(file, {
    threadEntry: join(folder, 'no-such-program.mjs'),
    callsBeforeThread: 0,
  });
  for (let count = 1; count <= 50; count += 1)
    expect((await ledger.append([fact('run_a')]))[0]?.offset).toBe(count);
  await ledger.close();
});

test('what a thread had not answered when it ended is an outage, and later appends are written without it', async () => {
  const ledger = openLedger(file, { threadEntry: ENDS, callsBeforeThread: 0 });
  const failures: unknown[] = [];
  await vi.waitUntil(async () => {
    await ledger.append([fact('run_a')]).catch((error: unknown) => failures.push(error));
    return failures.length > 0;
  });
  expect(failures[0]).toBeInstanceOf(LedgerIoError);
  expect(isOutage(failures[0])).toBe(true);
  expect(await ledger.append([fact('run_b')])).toMatchObject([{ runId: 'run_b', seq: 1 }]);
  await ledger.close();
});

test('the main thread sees at once what was appended, and does not write it itself', async () => {
  const ledger = await openThreadLedger(file);
  const appends = Array.from({ length: 300 }, (_, index) => ledger.append([fact(`run_${index % 7}`)]));
  const stored = await Promise.all(appends);
  expect(stored.map(([event]) => event?.offset)).toEqual(appends.map((_, index) => index + 1));
  expect(ledger.lastOffset()).toBe(300);
  expect(ledger.verifyAll()).toMatchObject({ ok: true, problems: [] });
  await ledger.close();
});

test('a thread that nothing came to ends, and the next append starts it again while it is written here', async () => {
  let starts = 0;
  const { ledger } = openWithThread(file, {
    threadEntry: await buildThread(),
    threadIdleMs: 1,
    callsBeforeThread: 3,
    onThreadReady: () => (starts += 1),
  });
  for (let count = 0; count < 4; count += 1) await ledger.append([fact('run_a')]);
  for (let count = 1; count <= 3; count += 1) {
    await vi.waitUntil(() => starts === count, 20_000);
    await untilThreadsEnded();
    await ledger.append([fact('run_a')]);
  }
  expect(ledger.verifyAll()).toMatchObject({ ok: true, problems: [] });
  await ledger.close();
});

test('its own commits are no news of another process', async () => {
  const ledger = await openThreadLedger(file);
  const changes: LedgerChange[] = [];
  ledger.watch((change) => changes.push(change));
  for (let count = 0; count < 20; count += 1) await ledger.append([fact('run_a')]);
  await vi.waitUntil(() => changes.length > 0);
  const other = openLedger(file);
  await other.append([fact('run_b')]);
  await vi.waitUntil(() => changes.at(-1)?.origin === 'other');
  expect(changes.filter(({ origin }) => origin === 'other')).toHaveLength(1);
  await other.close();
  await ledger.close();
});

test('a ledger that was moved away is not written by the thread, and no new one is made', async () => {
  const ledger = await openThreadLedger(file);
  await ledger.append([fact('run_a')]);
  renameSync(file, join(folder, 'moved.db'));
  await expect(ledger.append([fact('run_a')])).rejects.toBeInstanceOf(LedgerGoneError);
  expect(ledger.isThere()).toBe(false);
  await ledger.close();
});

test.each([
  ['ends by itself once nothing is under way', 60, '', '61\n'],
  ['ends by itself when its thread is ready too late for the last append', 0, '', '1\n'],
  ['ends when it wants to, in the middle of an append', 60, 'exit', ''],
])('a process that never closes its ledger %s', { timeout: 90_000 }, async (_how, count, how, printed) => {
  const entry = await buildThread();
  const { stdout } = await run(process.execPath, [LEAVES, file, entry, String(count), how], {
    timeout: 60_000,
  });
  expect(stdout).toBe(printed);
  const ledger = openLedger(file);
  expect(ledger.lastOffset()).toBeGreaterThanOrEqual(count);
  expect(ledger.verifyAll()).toMatchObject({ ok: true, problems: [] });
  await ledger.close();
});

test('a commit costs the main thread less than it costs without the thread', async () => {
  const cpuOf = async (ledger: Pick<Ledger, 'append'>): Promise<number> => {
    const before = threadCpuUsage();
    for (let count = 0; count < 5; count += 1)
      await ledger.append(Array.from({ length: 50 }, () => fact('run_a', { padding: 'x'.repeat(2000) })));
    const { user, system } = threadCpuUsage(before);
    return user + system;
  };
  const here = openLedger(join(folder, 'here.db'));
  const away = await openThreadLedger(file);
  const [alone, withThread]: [number[], number[]] = [[], []];
  // In turns, and the middle one counts: a busy moment of the machine hits both, and one round alone decides nothing.
  for (let round = 0; round < 11; round += 1) {
    alone.push(await cpuOf(here));
    withThread.push(await cpuOf(away));
  }
  const middle = (values: number[]): number | undefined => values.toSorted((a, b) => a - b)[5];
  expect(middle(withThread)).toBeLessThan(middle(alone) ?? 0);
  await here.close();
  await away.close();
});

/** Resolves when every thread of this process has ended that began since the test did. */
async function untilThreadsEnded(): Promise<void> {
  await vi.waitUntil(() => underWay === 0, 20_000);
}
