/**
 * Readers and askers over HTTP that could disturb a daemon at work. `CAISSON_HTTP_READERS=100`, `CAISSON_HTTP_SLEEP_SECONDS`
 * and `CAISSON_HTTP_ASKED=500x60` are the nightly sizes (docs/guides/nightly.md).
 */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { Agent } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { DaemonStatus, WireEvent } from '@caisson/protocol';
import { expect, it, onTestFinished } from 'vitest';
import { calls, createStory, goOn, startStory, WAITS } from '../e2e/create-story.ts';
import { openHttp, readEventsTo, type HttpFace } from '../e2e/open-http.ts';
import { createProject, until } from '../e2e/project.ts';
import { peakMemoryMiB } from './processes.ts';

const READERS = Number(process.env['CAISSON_HTTP_READERS'] ?? 30);
const SLEEP_SECONDS = Number(process.env['CAISSON_HTTP_SLEEP_SECONDS'] ?? 0);
const CALLS = 800;
/** More than the kernel holds for a connection. */
const LOUD = Array.from({ length: 1200 }, (_, index) => ({
  kind: 'text',
  text: `${index} ${'x'.repeat(3800)}`,
}));
const MAX_DAEMON_MIB = 320;
/** Some 400 events a second: who reads keeps pace. */
const PACED = `${WAITS} split -l 40 signals part.; for part in part.*; do cat $part; sleep 0.15; done; rm part.*`;
/** The kernel buffers little for it; it reads nothing until a line comes on stdin. */
const SLEEPER = `use Socket; my ($port, $token) = @ARGV; socket(my $s, AF_INET, SOCK_STREAM, 0);
setsockopt($s, SOL_SOCKET, SO_RCVBUF, 4096); connect($s, pack_sockaddr_in($port, inet_aton("127.0.0.1"))) or die;
syswrite $s, "GET /v1/events HTTP/1.0\\r\\nHost: 127.0.0.1:$port\\r\\nAuthorization: Bearer $token\\r\\n\\r\\n";
sysread $s, my $head, 16; print STDERR "follows"; <STDIN>; $| = 1; print $head; print $head while sysread $s, $head, 65536;`;

function startSleeper({ url, token }: HttpFace): ChildProcessWithoutNullStreams {
  const child = spawn('perl', ['-e', SLEEPER, new URL(url).port, token]);
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

const recorded = (events: readonly WireEvent[]): number[] =>
  events.filter(({ seq }) => seq > 0).map(({ offset }) => offset);
const countOf = (events: readonly WireEvent[], type: string): number =>
  events.filter((event) => event.type === type).reduce((sum, event) => sum + Number(event['count'] ?? 1), 0);

/** Every recorded event once, in order. */
function expectWhole(events: readonly WireEvent[]): void {
  const offsets = recorded(events);
  expect(offsets).toEqual(offsets.map((_, index) => (offsets[0] ?? 0) + index));
}

it(
  'a reader that sleeps among many misses only what is live, counted, and costs neither the others nor the daemon',
  { timeout: 180_000 + SLEEP_SECONDS * 1000 },
  async () => {
    const project = createStory([...LOUD, ...calls(CALLS)], { script: PACED });
    const face = await openHttp(project, 'read');
    const { open, get } = face;
    const { pid } = await get<DaemonStatus>('/v1/status');
    const sleeper = startSleeper(face);
    await once(sleeper.stderr, 'data');
    const others = await Promise.all(Array.from({ length: READERS }, () => open('/v1/events')));
    const read = others.map((stream) => readEventsTo(stream, 'dispatch.finished'));
    const runId = await startStory(project);
    await goOn(project, runId);
    const awake = await Promise.all(read);
    for (const events of awake) {
      expectWhole(events);
      expect(countOf(events, 'dispatch.finished')).toBe(1);
    }
    await delay(SLEEP_SECONDS * 1000); // it is asleep
    expect(peakMemoryMiB(pid)).toBeLessThan(MAX_DAEMON_MIB);
    sleeper.stdin.write('\n');
    const events = await readEventsTo(sleeper.stdout, 'dispatch.finished');
    expectWhole(events);
    expect(countOf(events, 'dispatch.finished')).toBe(1);
    const lost = countOf(events, 'gap');
    expect(lost).toBeGreaterThan(CALLS / 2);
    // On a machine without time for so many, who reads can lose some, too.
    for (const each of awake) expect(countOf(each, 'gap')).toBeLessThan(lost);
  },
);

const [PER_SECOND = 100, SECONDS = 5] = (process.env['CAISSON_HTTP_ASKED'] ?? '100x3').split('x').map(Number);
const RUNS = 16;
const BEAT_MS = 1000;
const LISTS = [
  '/v1/runs?limit=50&newestFirst=true',
  '/v1/approvals',
  '/v1/questions',
  '/v1/runs?status=running',
];

it(
  'lists that are asked for again and again make no heartbeat of sixteen runs late',
  { timeout: 120_000 + SECONDS * 3000 },
  async () => {
    const project = createProject({
      env: { CAISSON_HEARTBEAT_MS: String(BEAT_MS) },
      config: `limits: { concurrency: ${RUNS} }\n`,
    });
    const { open, get, post } = await openHttp(project, 'admin');
    const request = { argv: ['sleep', '1000'], workspace: 'empty', retries: 0 };
    for (let index = 0; index < RUNS; index += 1) await post('/v1/runs', { request });
    await until(
      'all run',
      async () =>
        (await get<object[]>('/v1/runs?status=running')).filter((run) => 'live' in run).length === RUNS,
      60_000,
    );
    const watched = new AbortController();
    const events = readEventsTo(await open('/v1/events'), null, watched.signal);
    await delay(2 * BEAT_MS); // beats before the first question
    const agent = new Agent({ keepAlive: true, maxSockets: 64 });
    const answers: Promise<unknown>[] = [];
    const begunMs = performance.now();
    while (answers.length < PER_SECOND * SECONDS) {
      const due = ((performance.now() - begunMs) / 1000) * PER_SECOND;
      while (answers.length < Math.min(due, PER_SECOND * SECONDS))
        answers.push(get(LISTS[answers.length % LISTS.length] ?? '', agent));
      await delay(5); // the pace itself
    }
    await Promise.all(answers);
    await delay(2 * BEAT_MS);
    watched.abort();
    agent.destroy();
    const seen = await events;
    expect(countOf(seen, 'health.changed')).toBe(0);
    const gaps = longestGaps(seen.filter(({ type }) => type === 'worker.heartbeat'));
    expect(gaps).toHaveLength(RUNS);
    expect(Math.max(...gaps)).toBeLessThan(2 * BEAT_MS); // not one was missed
  },
);

/** Of each run the longest time between two of its events, in ms. */
function longestGaps(events: readonly WireEvent[]): number[] {
  return [...Map.groupBy(events, ({ runId }) => runId).values()].map((beats) => {
    const times = beats.map(({ at }) => Date.parse(at));
    return Math.max(...times.slice(1).map((time, index) => time - (times[index] ?? 0)));
  });
}
