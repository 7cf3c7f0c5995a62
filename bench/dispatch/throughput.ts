// No-op runs at concurrency 2 against a BullMQ worker on Redis that starts `bwrap … node -e 0` per job and does nothing
// else: no ledger, no custody of files, no supervision, no seal. Batches in turns, so that load hits both.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { Queue, QueueEvents, Worker, type ConnectionOptions } from 'bullmq';
import { createCaisson, type Caisson } from 'caisson';

import type { BenchRow } from '../bench-row.ts';
import { createScratch, type Scratch } from './scratch.ts';

const BATCHES = 5;
const PER_BATCH = 40;
const CONCURRENCY = 2;
const AT_LEAST = 0.8;
const ARGV = [process.execPath, '-e', '0'];
const QUEUE = 'no-op';

export async function measureThroughput(): Promise<BenchRow[]> {
  const scratch = createScratch('throughput');
  const redis = await startRedis(scratch);
  try {
    const client = redis === null ? null : await loadClient();
    if (redis === null) return [unmeasured('redis-server is not installed here (apt install redis-server)')];
    if (client === null) return [unmeasured('the package ioredis, which BullMQ asks for, is not installed')];
    return [await measure(scratch, client)];
  } finally {
    if (redis?.kill() === true) await once(redis, 'exit');
    scratch.remove();
  }
}

async function measure(scratch: Scratch, createClient: CreateClient): Promise<BenchRow> {
  const peer = openPeer(scratch, createClient);
  const caisson = await createCaisson({
    cwd: scratch.project,
    flags: { 'limits.concurrency': CONCURRENCY },
  });
  try {
    return await compare(caisson, peer);
  } finally {
    await caisson.close();
    await peer.close();
  }
}

async function compare(caisson: Caisson, peer: Peer): Promise<BenchRow> {
  const ms = { ours: 0, peer: 0 };
  for (let batch = 0; batch <= BATCHES; batch += 1) {
    const ours = await timeBatch(() => runOurs(caisson));
    const theirs = await timeBatch(() => peer.run(PER_BATCH));
    if (batch === 0) continue; // compiled and cached by now, on both sides
    ms.ours += ours;
    ms.peer += theirs;
  }
  const total = BATCHES * PER_BATCH;
  const [value, peerValue] = [(total / ms.ours) * 1000, (total / ms.peer) * 1000];
  return {
    name: `dispatch: ${total} no-op runs at concurrency ${CONCURRENCY}, by library call`,
    value,
    unit: 'runs/s',
    peer: 'BullMQ on Redis, a bare bwrap … node per job',
    peerValue,
    ratio: value / peerValue,
    target: `>= ${AT_LEAST}x`,
    met: value / peerValue >= AT_LEAST,
  };
}

async function timeBatch(work: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

async function runOurs(caisson: Caisson): Promise<void> {
  const runs = await Promise.all(
    Array.from({ length: PER_BATCH }, () =>
      caisson.dispatch({ runtime: 'command', argv: ARGV, workspace: 'empty' }),
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

function openPeer(scratch: Scratch, createClient: CreateClient): Peer {
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
    concurrency: CONCURRENCY,
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

/** The same walls as ours, without what goes through descriptors (filter, files) and without a cgroup. */
async function startInBwrap(scratch: Scratch): Promise<void> {
  const hidden = ['/root', '/home', '/run', '/var/tmp'].filter((path) => existsSync(path));
  const child = spawn(
    'bwrap',
    [
      ...['--unshare-user', '--disable-userns', '--unshare-pid', '--unshare-ipc', '--unshare-uts'],
      ...['--unshare-net', '--unshare-cgroup', '--die-with-parent', '--new-session', '--cap-drop', 'ALL'],
      ...['--ro-bind', '/', '/', '--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp'],
      ...hidden.flatMap((path) => ['--tmpfs', path]),
      ...['--ro-bind', process.execPath, process.execPath],
      ...['--bind', scratch.project, scratch.project, '--chdir', scratch.project, '--', ...ARGV],
    ],
    { env: { PATH: process.env['PATH'] ?? '' }, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  child.stdout.resume();
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString('utf8')));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`bwrap ended with ${code}: ${stderr}`);
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

function unmeasured(why: string): BenchRow {
  return {
    name: 'dispatch: no-op runs by library call',
    value: Number.NaN,
    unit: 'runs/s',
    peer: `BullMQ: NOT MEASURED, ${why}`,
    peerValue: Number.NaN,
    ratio: Number.NaN,
    target: `>= ${AT_LEAST}x`,
    met: false,
  };
}
