/** Followers of a host that is killed or stands still, and a host whose followers are killed, stand still or do not read. */
import type { ChildProcess } from 'node:child_process';
import { readdirSync, readlinkSync } from 'node:fs';
import { createCaisson, type Caisson } from 'caisson';
import type { EventEnvelope, WireEvent } from '@caisson/protocol';
import { describe, expect, it, onTestFinished } from 'vitest';
import { calls, createStory, goOn, startStory, WAITS } from '../e2e/create-story.ts';
import { finish, parseLines, pidsWith, until, type CliRun, type Project } from '../e2e/project.ts';
import { MAX_HOST_MIB } from './harness/kinds/flood.ts';
import { serve } from './killed-daemons.ts';
import { peakMemoryMiB, slowness } from './processes.ts';

/** The same user as here; the worker beats often, so that a test need not wait for it. */
const ENV = { ...(process.env as Record<string, string>), CAISSON_HEARTBEAT_MS: '200' };
const STILL_MS = 3000;

const createTalk = (): Project => createStory(calls(2), { env: ENV, script: `${WAITS} cat signals` });

interface Follower {
  readonly child: ChildProcess;
  readonly ended: Promise<CliRun>;
  /** Events so far of that type. */
  count(type: string): number;
}

function follow(project: Project, runId: string): Follower {
  const child = project.start('logs', runId, '-f', '-o', 'ndjson');
  let text = '';
  child.stdout?.on('data', (chunk: Buffer) => (text += chunk.toString()));
  return { child, ended: finish(child), count: (type) => text.split(`{"type":"${type}"`).length - 1 };
}

const isLive = ({ count }: Follower): boolean => count('worker.heartbeat') > 0;

function findHost(runId: string): number {
  const [pid] = pidsWith(` host ${runId}`);
  if (pid === undefined) throw new Error(`${runId} has no host`);
  return pid;
}

function countSockets(pid: number): number {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).filter((fd) => {
    try {
      return readlinkSync(`${folder}/${fd}`).startsWith('socket:');
    } catch {
      return false; // closed meanwhile
    }
  }).length;
}

const recorded = (events: readonly (WireEvent | EventEnvelope)[]): number[] =>
  events.map(({ seq }) => seq).filter((seq) => seq > 0);

/** Every recorded event up to the ending once, in order. */
function expectWhole(events: readonly (WireEvent | EventEnvelope)[], ending: string): void {
  expect(recorded(events)).toEqual(recorded(events).map((_, index) => index + 1));
  expect(events.filter(({ type }) => type === ending)).toHaveLength(1);
}

describe('followers of a run in another process', { timeout: 120_000 }, () => {
  it('get its recorded ending once when its host is killed', async () => {
    const project = createTalk();
    const runId = await startStory(project);
    const followers = [1, 2, 3].map(() => follow(project, runId));
    await until('all follow', () => followers.every(isLive));
    process.kill(findHost(runId), 'SIGKILL');
    for (const { ended } of followers) {
      const { code, stdout, stderr } = await ended;
      expect([code, stderr]).toEqual([0, '']);
      expectWhole(parseLines(stdout), 'dispatch.failed');
    }
  });

  it('wait while its host stands still, also those that come then, and go on with it', async () => {
    const project = createTalk();
    const runId = await startStory(project);
    const early = follow(project, runId);
    await until('it follows', () => isLive(early));
    const host = findHost(runId);
    process.kill(host, 'SIGSTOP');
    const late = follow(project, runId);
    await until('what is recorded', () => late.count('dispatch.started') === 1);
    const before = early.count('worker.heartbeat');
    await new Promise((resolve) => setTimeout(resolve, STILL_MS)); // the standing still itself
    expect([early.child.exitCode, late.child.exitCode]).toEqual([null, null]);
    expect(isLive(late)).toBe(false);
    process.kill(host, 'SIGCONT');
    await until('both get live events again', () => isLive(late) && early.count('worker.heartbeat') > before);
    await goOn(project, runId);
    for (const { ended } of [early, late]) {
      const { code, stdout, stderr } = await ended;
      expect([code, stderr]).toEqual([0, '']);
      expectWhole(parseLines(stdout), 'dispatch.finished');
    }
  });

  it('leave nothing in its host when they are killed', async () => {
    const project = createTalk();
    const runId = await startStory(project);
    const stays = follow(project, runId);
    await until('it follows', () => isLive(stays));
    const host = findHost(runId);
    const before = countSockets(host);
    const killed = [1, 2, 3].map(() => follow(project, runId));
    await until('they follow', () => killed.every(isLive));
    expect(countSockets(host)).toBe(before + killed.length);
    for (const { child } of killed) child.kill('SIGKILL');
    await until('their connections are gone', () => countSockets(host) === before);
    await goOn(project, runId);
    expectWhole(parseLines((await stays.ended).stdout), 'dispatch.finished');
  });
});

const CALLS = 3000;
const PARTS = 10;
const STILL = 10;
const READING = 40;
/** Its connection, its page, and what waits for it. */
const FOLLOWER_MIB = 2;
/**
 * 100 MB of noise between parts of the story: far more live events than wait for a reader. It says how long that took,
 * then waits for another message.
 */
const LOUD = [
  WAITS,
  `split -n l/${PARTS} signals part.; begun=$(date +%s%3N);`,
  'for part in part.*; do cat $part; yes noise | head -c 10000000; done; rm part.*;',
  'echo took $(($(date +%s%3N) - begun)) >&2;',
  'until [ $(wc -l < .caisson/channel/inbox.jsonl) -ge 2 ]; do sleep 0.05; done',
].join(' ');

it('fifty followers of a daemon, ten of them standing still, neither slow an agent that prints 100 MB nor fill its host', async () => {
  const alone = await runLoud(0, 0);
  const crowd = await runLoud(READING, STILL);
  expect(crowd.hostMiB).toBeLessThan(MAX_HOST_MIB + (READING + STILL) * FOLLOWER_MIB);
  // Forty readers want their share of the machine, too: the run waits for CPU, never for a reader.
  expect(crowd.loudMs).toBeLessThan(alone.loudMs * 2 * slowness() + 1500);
  for (const events of crowd.readers) expectWhole(events, 'dispatch.finished');
  for (const { stdout, stderr, code } of crowd.still) {
    expect([code, stderr]).toEqual([0, '']);
    const events = parseLines(stdout);
    expectWhole(events, 'dispatch.finished');
    const gaps = events.filter(({ type }) => type === 'gap').map((event) => Number(event['count']));
    const live = events.filter(({ seq, type }) => seq === 0 && type !== 'gap').length;
    // Two of the four events of each call are live only, and so is what the record has no room for.
    expect(live + gaps.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(CALLS * 4 - 2000);
    expect(live).toBeLessThan(CALLS);
  }
}, 300_000);

interface Ran {
  readonly loudMs: number;
  readonly hostMiB: number;
  readonly readers: readonly EventEnvelope[][];
  readonly still: readonly CliRun[];
}

async function runLoud(reading: number, still: number): Promise<Ran> {
  const project = createStory(calls(CALLS), { env: ENV, script: LOUD });
  const daemon = await serve(project);
  const runId = await startStory(project);
  const onNotice = (message: string): never => {
    throw new Error(message); // it goes without the daemon
  };
  const caisson = await createCaisson({ cwd: project.root, onNotice });
  onTestFinished(() => caisson.close());
  let following = 0;
  const readers = Array.from({ length: reading }, () => readAll(caisson, runId, () => (following += 1)));
  const stopped = Array.from({ length: still }, () => follow(project, runId));
  await until('all follow', () => following === reading && stopped.every(isLive), 90_000);
  for (const { child } of stopped) child.kill('SIGSTOP');
  await goOn(project, runId);
  const took = async (): Promise<string | undefined> =>
    /^took (\d+)$/m.exec((await caisson.log(runId, 'stderr')).toString())?.[1];
  const loudMs = Number(await until('all is printed', took, 120_000));
  for (const { child } of stopped) child.kill('SIGCONT');
  await until('what they missed is counted', () => stopped.every(({ count }) => count('gap') > 0), 60_000);
  const hostMiB = peakMemoryMiB(daemon);
  await goOn(project, runId);
  const { status, result } = await (await caisson.attach(runId)).ended;
  expect(status).toBe('done');
  expect(result).not.toBeNull();
  return {
    loudMs,
    hostMiB,
    readers: await Promise.all(readers),
    still: await Promise.all(stopped.map((follower) => follower.ended)),
  };
}

async function readAll(caisson: Caisson, runId: string, onLive: () => void): Promise<EventEnvelope[]> {
  const events: EventEnvelope[] = [];
  let isFollowing = false;
  for await (const event of caisson.follow(runId)) {
    if (event.seq === 0 && !isFollowing) onLive();
    isFollowing ||= event.seq === 0;
    events.push(event);
  }
  return events;
}
