import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { accepted, fact, finished, launched, started } from '../fixtures/sample-events.ts';
import { openLedger } from '../index.ts';
import type { LedgerChange } from '../index.ts';

const run = promisify(execFile);
const APPENDER = new URL('../fixtures/append-forever.ts', import.meta.url).pathname;
const TAKER = new URL('../fixtures/take-slots.ts', import.meta.url).pathname;

describe('several processes on one ledger file', () => {
  let folder: string;
  let file: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'caisson-ledger-'));
    file = join(folder, 'ledger.db');
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  test('four processes create it and append at once: nothing is lost, nothing has a hole', async () => {
    const outputs = await Promise.all(
      ['run_a', 'run_b', 'run_c', 'run_c'].map((runId) =>
        run(process.execPath, [APPENDER, file, runId, '4', '150']),
      ),
    );
    const acknowledged = outputs.flatMap(({ stdout }) => stdout.trim().split('\n'));
    const ledger = openLedger(file);
    const all = ledger.read();
    expect(all.length).toBe(600);
    expect(new Set(acknowledged)).toEqual(new Set(all.map((event) => `${event.offset} ${event.id}`)));
    expect(ledger.read({ runId: 'run_c' }).at(-1)?.seq).toBe(300);
    expect(ledger.verifyAll()).toMatchObject({ ok: true, problems: [] });
    await ledger.close();
  });

  test('kill -9 in the middle of appending loses nothing that was acknowledged', async () => {
    for (let round = 0; round < 4; round += 1) {
      const acknowledged = await appendUntilKilled(file, 100 + round * 37);
      const ledger = openLedger(file);
      const known = new Set(ledger.read().map((event) => `${event.offset} ${event.id}`));
      expect(acknowledged.length).toBeGreaterThan(0);
      expect(acknowledged.filter((line) => !known.has(line))).toEqual([]);
      expect(ledger.verifyAll()).toMatchObject({ ok: true, problems: [] });
      await ledger.append([fact('run_after')]);
      await ledger.close();
    }
  });

  test('a process whose run was adopted by another is refused, and writes nothing of it any more', async () => {
    const ledger = openLedger(file);
    await ledger.append([accepted('run_a'), launched('run_a', 1), started('run_a', 1)]);
    const refused = run(process.execPath, [APPENDER, file, 'run_a', '4', '0', '1']).catch(
      (error: unknown) => error as { stdout: string; stderr: string },
    );
    await expect.poll(() => ledger.lastOffset(), { timeout: 20_000 }).toBeGreaterThan(20);
    const data = { host: 'host_2', epoch: 2, previousHost: 'host_1' };
    const [adopted] = await ledger.append([{ ...fact('run_a', data), type: 'run.adopted', attempt: 1 }]);
    const { stdout, stderr } = await refused;
    expect(stderr).toContain('was adopted by another host (host_2)');
    const offsets = stdout
      .trim()
      .split('\n')
      .map((line) => Number.parseInt(line, 10));
    expect(Math.max(...offsets)).toBeLessThan(adopted?.offset ?? 0);
    expect(ledger.lastOffset()).toBe(adopted?.offset);
    expect(ledger.verifyAll()).toMatchObject({ ok: true, problems: [] });
    await ledger.close();
  });

  test('a watcher notices another process', async () => {
    const ledger = openLedger(file);
    const received = Promise.withResolvers<LedgerChange>();
    ledger.watch(received.resolve);
    const appending = run(process.execPath, [APPENDER, file, 'run_a', '1', '1']);
    expect(await received.promise).toEqual({ origin: 'other' });
    expect(ledger.lastOffset()).toBe(1);
    await appending;
    await ledger.close();
  });

  test('two connections cannot both end a run', async () => {
    const one = openLedger(file);
    const two = openLedger(file);
    await one.append([accepted('run_a')]);
    const settled = await Promise.allSettled([
      one.append([finished('run_a', 0)]),
      two.append([finished('run_a', 0)]),
    ]);
    expect(settled.map((call) => call.status).sort()).toEqual(['fulfilled', 'rejected']);
    await one.close();
    await two.close();
  });

  test('three processes never hold more slots than the limit, and each gets a turn', async () => {
    const ledger = openLedger(file);
    const hosts = ['h0', 'h1', 'h2'];
    const runsOf = (host: string) => Array.from({ length: 5 }, (_, index) => `run_${host}_${index}`);
    // Accepted in turns, so that each process must wait for the others.
    const order = Array.from({ length: 5 }, (_, index) => hosts.map((host) => `run_${host}_${index}`)).flat();
    await ledger.append(order.map((runId) => accepted(runId, { pool: 'p' })));
    const outputs = await Promise.all(
      hosts.map((host) => run(process.execPath, [TAKER, file, host, '2', ...runsOf(host)])),
    );
    const counts = outputs
      .flatMap(({ stdout }) => stdout.trim().split('\n'))
      .map((line) => Number(line.split(' ')[1]));
    expect(counts.length).toBe(15);
    expect(Math.max(...counts)).toBeLessThanOrEqual(2);
    expect([ledger.leases.listSlots(), ledger.leases.queueLength('p')]).toEqual([[], 0]);
    await ledger.close();
  });
});

/** Starts an appender, kills it hard after `count` acknowledgements, and returns every line it managed to write. */
async function appendUntilKilled(file: string, count: number): Promise<string[]> {
  const child = spawn(process.execPath, [APPENDER, file, 'run_a', '8'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    if (lines.length === count) child.kill('SIGKILL');
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  expect(child.signalCode).toBe('SIGKILL');
  return lines;
}
