// No-op runs at concurrency 2 and 4 against a BullMQ worker on Redis that starts `bwrap … node -e 0` per job with the flags of our
// own sandbox and does nothing else: no ledger, no custody of files, no supervision, no seal. Of ours each run is a worker
// (Node) and bubblewrap around the no-op: `true`, so that both sides start one Node, and once more with Node inside too.
// Batches in turns, so that load hits both.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { Queue, QueueEvents, Worker, type ConnectionOptions } from 'bullmq';
import { createCaisson, type Caisson } from 'caisson';

import { unmeasuredRow, type BenchRow } from '../bench-row.ts';
import { BARE_NODE, startInBwrap } from './bare-bwrap.ts';
import { createScratch, type Scratch } from './scratch.ts';

const BATCHES = 5;
const PER_BATCH = 40;
/** How many at once, and the least ratio; without a thin witness (decision 0044) 0.8 is out of reach. */
const LOADS = [
  { concurrency: 2, atLeast: 0.45 },
  { concurrency: 4, atLeast: 0.45 },
];
type Load = (typeof LOADS)[number];
const NO_OPS = [
  { argv: ['true'], name: 'true' },
  { argv: BARE_NODE, name: 'node -e 0' },
];
const QUEUE = 'no-op';
const TOTAL = BATCHES * PER_BATCH;
const PEER = 'BullMQ on Redis, a bare bwrap … node per job, same flags';

const nameOf = (noOp: string, concurrency: number): string =>
  `dispatch: ${TOTAL} no-op runs (${noOp}) at concurrency ${concurrency}, by library call`;

export async function measureThroughput(): Promise<BenchRow[]> {
  const scratch = createScratch('throughput');
  const redis = await startRedis(scratch);
  try {
    const client = redis === null ? null : await loadClient();
    if (redis === null) return unmeasured('redis-server is not installed here (apt install redis-server)');
    if (client === null) return unmeasured('the package ioredis, which BullMQ asks for, is not installed');
    const rows: BenchRow[] = [];
    for (const load of LOADS) rows.push(...(await measure(scratch, client, load)));
    return rows;
  } finally {
    if (redis?.kill() === true) await once(redis, 'exit');
    scratch.remove();
  }
}

async function measure(scratch: Scratch, createClient: CreateClient, load: Load): Promise<BenchRow[]> {
  const peer = openPeer(scratch, createClient, load);
  const caisson = await createCaisson({
    cwd: scratch.project,
    flags: { 'limits.concurrency': load.concurrency },
  });
  try {
    return await compare(caisson, peer, load);
  } finally {
    await caisson.close();
    await peer.close();
  }
}

async function compare(caisson: Caisson, peer: Peer, load: Load): Promise<BenchRow[]> {
  const { concurrency, atLeast } = load;
  const ms = { peer: 0, ours: NO_OPS.map(() => 0) };
  for (let batch = 0; batch <= BATCHES; batch += 1) {
    const theirs = await timeBatch(() => peer.run(PER_BATCH));
    if (batch > 0) ms.peer += theirs; // the first batch compiles and caches, on both sides
    for (const [index, { argv }] of NO_OPS.entries()) {
      const ours = await timeBatch(() => runOurs(caisson, argv));
      if (batch > 0) ms.ours[index] = (ms.ours[index] ?? 0) + ours;
    }
  }
  const perSecond = (time: number): number => (TOTAL / time) * 1000;
  return NO_OPS.map(({ name }, index) => {
    const [value, peerValue] = [perSecond(ms.ours[index] ?? 0), perSecond(ms.peer)];
    return {
      name: nameOf(name, concurrency),
      value,
      unit: 'runs/s',
      peer: PEER,
      peerValue,
      ratio: value / peerValue,
      target: `>= ${atLeast}x`,
      met: value / peerValue >= atLeast,
    };
  });
}

async function timeBatch(work: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

async function runOurs(caisson: Caisson, argv: readonly string[]): Promise<void> {
  const runs = await Promise.all(
    Array.from({ length: PER_BATCH }, () =>
      caisson.dispatch({ runtime: 'command', argv: [...argv], workspace: 'empty' }),
    ),
  );
  const results = await Promise.all(runs.map((run) => run.ended));
  const failed = results.find((result) => result.status !== 'done');
  if (failed !== undefined) throw new Error(`a no-op run ended as ${failed.status}`);
}

interface Peer {
  run(count: number): Promise<void>;
  close(): Promise<void>;
}

type CreateClient = (options: { path: string; maxRetriesPerRequest: null }) => ConnectionOptions;

/** An optional companion of BullMQ: a bench that cannot be run here says so. */
async function loadClient(): Promise<CreateClient | null> {
  const name: string = 'ioredis';
  try {
    const { Redis } = (await import(name)) as { Redis: new (options: unknown) => ConnectionOptions };
    return (options) => new Redis(options);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND') return null;
    throw error;
  }
}

function openPeer(scratch: Scratch, createClient: CreateClient, { concurrency }: Load): Peer {
  const clients: ConnectionOptions[] = [];
  const connect = (): ConnectionOptions => {
    const client = createClient({ path: socketOf(scratch), maxRetriesPerRequest: null });
    clients.push(client);
    return client;
  };
  const queue = new Queue(QUEUE, { connection: connect() });
  queue.setMaxListeners(0); // one for each job that is waited for
  const events = new QueueEvents(QUEUE, { connection: connect() });
  const worker = new Worker(QUEUE, () => startInBwrap(scratch), {
    connection: connect(),
    concurrency,
  });
  return {
    async run(count) {
      await events.waitUntilReady();
      const jobs = await queue.addBulk(Array.from({ length: count }, () => ({ name: 'run', data: {} })));
      await Promise.all(jobs.map((job) => job.waitUntilFinished(events)));
    },
    async close() {
      await worker.close();
      await events.close();
      await queue.close();
      // BullMQ leaves clients that it was handed open; they would look for Redis for ever.
      for (const client of clients) (client as unknown as { disconnect(): void }).disconnect();
    },
  };
}

const socketOf = (scratch: Scratch): string => join(scratch.root, 'redis.sock');

/** A Redis of our own on a socket of our own; null where it is not installed. */
async function startRedis(scratch: Scratch): Promise<ChildProcess | null> {
  const words = ['--port', '0', '--unixsocket', socketOf(scratch), '--save', '', '--dir', scratch.root];
  const redis = spawn('redis-server', words, { stdio: 'ignore' });
  const failed = once(redis, 'error').then(() => false);
  const exited = once(redis, 'exit').then(() => false);
  const isUp = await Promise.race([failed, exited, once(redis, 'spawn').then(() => true)]).catch(() => false);
  if (!isUp) return null;
  while (!existsSync(socketOf(scratch))) await setTimeout(10);
  return redis;
}

function unmeasured(why: string): BenchRow[] {
  return LOADS.flatMap(({ concurrency, atLeast }) =>
    NO_OPS.map(({ name }) => {
      const row = { name: nameOf(name, concurrency), unit: 'runs/s', peer: PEER };
      return unmeasuredRow({ ...row, target: `>= ${atLeast}x` }, why);
    }),
  );
}
