// The ledger against single inserts: same disk, same run, same rows, so that only the ratio counts.

import { closeSync, fsyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type BetterSqlite3 from 'better-sqlite3';
import { openLedger } from '../packages/engine/src/ledger/index.ts';
import type { Ledger, NewEvent } from '../packages/engine/src/ledger/index.ts';

export interface BenchRow {
  name: string;
  value: number;
  unit: string;
  peer: string;
  peerValue: number;
  ratio: number;
  target: string;
  met: boolean;
}

const APPENDERS = 64;
const APPENDS_EACH = 200;
const SINGLE_INSERTS = 1_500;
const ROUNDS = 7;
const DETAIL = 'x'.repeat(120);
const LATENCY_BLOCKS = 11;
const SAMPLES_PER_BLOCK = 400;

/** Measures every number the ledger promises. */
export async function run(): Promise<BenchRow[]> {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-bench-ledger-'));
  try {
    return [await measureThroughput(folder), await measureLatency(folder), await measureOpen(folder)];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Rounds alternate between us and the peer, and the best of each counts: what a busy neighbour takes is not ours. */
async function measureThroughput(folder: string): Promise<BenchRow> {
  const ours: number[] = [];
  const peers: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    peers.push(singleInsertsPerSecond(join(folder, `single-${round}.db`)));
    ours.push(await appendsPerSecond(join(folder, `ledger-${round}.db`)));
  }
  const value = Math.max(...ours);
  const peerValue = Math.max(...peers);
  return {
    name: `ledger: ${APPENDERS} concurrent appenders, each durable before it resolves`,
    value,
    unit: 'appends/s',
    peer: 'better-sqlite3, one INSERT per transaction, WAL, synchronous FULL',
    peerValue,
    ratio: value / peerValue,
    target: '>= 10x',
    met: value / peerValue >= 10,
  };
}

/**
 * Appends and fsyncs alternate on the same disk. The percentile is taken in blocks and the middle block counts, so that
 * a neighbour's burst of writes does not decide what the ledger itself costs.
 */
async function measureLatency(folder: string): Promise<BenchRow> {
  const ledger = openLedger(join(folder, 'latency.db'));
  const descriptor = openSync(join(folder, 'fsync'), 'w');
  const appendP99s: number[] = [];
  const fsyncMeans: number[] = [];
  for (let block = 0; block < LATENCY_BLOCKS; block += 1) {
    const { appends, fsyncs } = await sampleBlock(ledger, descriptor);
    appendP99s.push(percentile(appends, 0.99));
    fsyncMeans.push(mean(fsyncs));
  }
  closeSync(descriptor);
  await ledger.close();
  const value = percentile(appendP99s, 0.5);
  const peerValue = percentile(fsyncMeans, 0.5);
  return {
    name: 'ledger: one append, 99th percentile',
    value,
    unit: 'ms',
    peer: 'mean of one fsync after a 4 KiB write',
    peerValue,
    ratio: value / peerValue,
    target: '< 4x',
    met: value / peerValue < 4,
  };
}

async function sampleBlock(
  ledger: Ledger,
  descriptor: number,
): Promise<{ appends: number[]; fsyncs: number[] }> {
  const page = Buffer.alloc(4096, 1);
  const appends: number[] = [];
  const fsyncs: number[] = [];
  for (let index = 0; index < SAMPLES_PER_BLOCK; index += 1) {
    const startedAt = performance.now();
    await ledger.append([sampleEvent('run_latency', index)]);
    appends.push(performance.now() - startedAt);
    writeSync(descriptor, page);
    const syncedAt = performance.now();
    fsyncSync(descriptor);
    fsyncs.push(performance.now() - syncedAt);
  }
  return { appends, fsyncs };
}

async function measureOpen(folder: string): Promise<BenchRow> {
  const file = join(folder, 'open.db');
  const first = openLedger(file);
  await first.append([sampleEvent('run_open', 0)]);
  await first.close();
  const times: number[] = [];
  for (let index = 0; index < 50; index += 1) {
    const startedAt = performance.now();
    const ledger = openLedger(file);
    ledger.lastOffset();
    times.push(performance.now() - startedAt);
    await ledger.close();
  }
  const value = percentile(times, 0.5);
  return {
    name: 'ledger: open a warm file and read its last offset',
    value,
    unit: 'ms',
    peer: 'the budget of the CLI start path',
    peerValue: 6,
    ratio: value / 6,
    target: '< 6 ms',
    met: value < 6,
  };
}

async function appendsPerSecond(file: string): Promise<number> {
  const ledger = openLedger(file);
  await appendMany(ledger, 'run_warm_up', 20);
  const startedAt = performance.now();
  await Promise.all(
    Array.from({ length: APPENDERS }, (_, index) => appendMany(ledger, `run_${index}`, APPENDS_EACH)),
  );
  const seconds = (performance.now() - startedAt) / 1000;
  await ledger.close();
  return (APPENDERS * APPENDS_EACH) / seconds;
}

async function appendMany(ledger: Ledger, runId: string, count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) await ledger.append([sampleEvent(runId, index)]);
}

function singleInsertsPerSecond(file: string): number {
  // better-sqlite3 is the engine's dependency, not the workspace's.
  const engineRequire = createRequire(new URL('../packages/engine/package.json', import.meta.url));
  const Database = engineRequire('better-sqlite3') as typeof BetterSqlite3;
  const db = new Database(file);
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
    CREATE TABLE events (
      offset INTEGER PRIMARY KEY, run TEXT, seq INTEGER, id TEXT UNIQUE, attempt INTEGER, type TEXT, version INTEGER,
      at TEXT, trace TEXT, data TEXT, prev_hash TEXT, hash TEXT, UNIQUE (run, seq)
    )`);
  const insert = db.prepare('INSERT INTO events VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)');
  const hash = 'f'.repeat(64);
  const startedAt = performance.now();
  for (let index = 0; index < SINGLE_INSERTS; index += 1) {
    const { runId, attempt, type, version, at, trace, data } = sampleEvent('run_single', index);
    insert.run(
      runId,
      index,
      `evt_${index}`,
      attempt,
      type,
      version,
      at,
      trace,
      JSON.stringify(data),
      hash,
      hash,
    );
  }
  const seconds = (performance.now() - startedAt) / 1000;
  db.close();
  return SINGLE_INSERTS / seconds;
}

function sampleEvent(runId: string, index: number): NewEvent {
  return {
    runId,
    attempt: 1,
    type: 'script.ran',
    version: 1,
    at: '2026-01-02T03:04:05.006Z',
    trace: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    data: { lens: 'verify', command: 'npm test', exitCode: 0, durationMs: index, detail: DETAIL },
  };
}

function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

if (import.meta.main) console.table(await run());
