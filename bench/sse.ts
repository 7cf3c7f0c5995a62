// A hundred pages and programs follow a project at once: how late each event reaches each of them over TCP, and how long the
// daemon's event loop is held by that. The peer is a plain server of Node at the same pace. Needs a build.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { openProject, until, type Project } from '../tests/e2e/open-project.ts';
import type { BenchRow } from './bench-row.ts';
import { readCpuMs } from './read-cpu.ts';
import { openReaders, type Readers } from './sse/open-readers.ts';

const READERS = 100;
const PER_SECOND = 200;
const WARM_UP_MS = 5000;
const WATCHED_MS = 20_000;
const MOST_MS = 250;
const MOST_TURN_MS = 10;
/** Of the rate that was asked for: with fewer events it would measure something else. */
const LEAST_SHARE = 0.98;
const CLI = fileURLToPath(new URL('../packages/cli/bin/caisson.js', import.meta.url));
const REPORT = fileURLToPath(new URL('./sse/report-turns.ts', import.meta.url));
const PLAIN = fileURLToPath(new URL('./sse/plain-server.ts', import.meta.url));
/** A call is four events: its beginning, its end, and both of them told live. */
const CALLS = `perl -MTime::HiRes=time,sleep -e '$|=1; $due=time; for my $i (1..100000) {
  print qq({"kind":"tool-start","callId":"c$i","tool":"bash","input":{"command":"echo $i"}}\\n);
  print qq({"kind":"tool-end","callId":"c$i","durationMs":1,"ok":true}\\n);
  $due += ${4 / PER_SECOND}; $wait = $due - time; sleep($wait) if $wait > 0 }'`;
const ADAPTER = `export default {
  name: 'mine',
  command: () => ({ argv: ['/bin/sh', '-c', ${JSON.stringify(CALLS)}], env: {}, files: [], stdin: null }),
  createStream: () => ({
    line: (text) => [JSON.parse(text)],
    end: () => ({ kind: 'answered', reply: 'done' }),
  }),
};\n`;

interface Measured {
  readonly delaysMs: readonly number[];
  readonly turnsMs: readonly number[];
  /** Of a core, of the server's whole process. */
  readonly cpuPercent: number;
}

export async function run(): Promise<BenchRow[]> {
  const ends: (() => void)[] = [];
  const config = 'runtimes: { mine: { adapter: ./adapter.mjs, bin: /bin/sh } }\n';
  const project = openProject({ config }, (end) => ends.push(end));
  try {
    project.write('adapter.mjs', ADAPTER);
    const peer = await measurePlain(project);
    return rowsOf(await measureDaemon(project), peer);
  } finally {
    await project.caisson('down', '--now');
    for (const end of ends.toReversed()) end();
  }
}

async function measureDaemon(project: Project): Promise<Measured> {
  await project.trust();
  const daemon = start(project, CLI, 'up');
  try {
    await until('the daemon', async () => (await project.caisson('status')).code === 0);
    const { url } = await ask<{ url: string }>(project, 'ui', '--no-open');
    const { token } = await ask<{ token: string }>(project, 'tokens', 'create', 'bench', '--scope', 'read');
    const readers = await openReaders(`${url}v1/events`, token, READERS);
    await project.caisson('run', '--detach', '--runtime', 'mine', '--workspace', 'empty', 'do it');
    return await watch(project, daemon, readers);
  } finally {
    daemon.kill('SIGINT');
    await once(daemon, 'exit');
  }
}

async function measurePlain(project: Project): Promise<Measured> {
  const server = start(project, PLAIN, String(PER_SECOND));
  try {
    const [line] = (await once(server.stdout ?? server, 'data')) as [Buffer];
    return await watch(project, server, await openReaders(line.toString().trim(), '', READERS));
  } finally {
    server.kill('SIGKILL');
  }
}

async function watch(project: Project, server: ChildProcess, readers: Readers): Promise<Measured> {
  try {
    await setTimeout(WARM_UP_MS);
    await readTurns(project, server);
    readers.reset();
    const beforeMs = readCpuMs(server.pid ?? 0);
    await setTimeout(WATCHED_MS);
    const cpuPercent = ((readCpuMs(server.pid ?? 0) - beforeMs) / WATCHED_MS) * 100;
    const [{ delaysMs }, turnsMs] = [readers, await readTurns(project, server)];
    const perSecond = delaysMs.length / READERS / (WATCHED_MS / 1000);
    if (perSecond < PER_SECOND * LEAST_SHARE) throw new Error(`only ${perSecond} events a second came`);
    return { delaysMs, turnsMs, cpuPercent };
  } finally {
    readers.close();
  }
}

function start({ root, env }: Project, ...args: string[]): ChildProcess {
  return spawn(process.execPath, ['--import', REPORT, ...args], {
    cwd: root,
    env: { ...env, CAISSON_BENCH_TURNS: turnsFile(root) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

const turnsFile = (root: string): string => join(root, 'turns.json');

async function readTurns({ root }: Project, server: ChildProcess): Promise<readonly number[]> {
  const file = turnsFile(root);
  rmSync(file, { force: true });
  server.kill('SIGUSR2');
  await until('its turns', () => existsSync(file));
  return JSON.parse(readFileSync(file, 'utf8')) as number[];
}

async function ask<T>(project: Project, ...args: string[]): Promise<T> {
  const { stdout, stderr, code } = await project.caisson(...args, '-o', 'json');
  if (code !== 0) throw new Error(`caisson ${args.join(' ')} ended with ${code}: ${stderr}`);
  return JSON.parse(stdout) as T;
}

function rowsOf(ours: Measured, peer: Measured): BenchRow[] {
  const how = `${READERS} readers, ${PER_SECOND} events/s`;
  const row = (what: string, limitMs: number, valueOf: (measured: Measured) => number): BenchRow => ({
    name: `sse: ${what} (${how})`,
    value: valueOf(ours),
    unit: 'ms',
    peer: 'a server of Node that writes each event to each reader',
    peerValue: valueOf(peer),
    ratio: valueOf(ours) / valueOf(peer),
    target: `< ${limitMs} ms`,
    met: valueOf(ours) < limitMs,
    details: [
      `CPU of the process: ${ours.cpuPercent.toFixed(0)} % of a core, of the other ${peer.cpuPercent.toFixed(0)} %`,
    ],
  });
  return [
    row('from an event to a reader, p95', MOST_MS, ({ delaysMs }) => percentile(delaysMs, 0.95)),
    row('from an event to a reader, the latest', MOST_MS, ({ delaysMs }) => percentile(delaysMs, 1)),
    row('longest turn of the event loop, CPU time', MOST_TURN_MS, ({ turnsMs }) => percentile(turnsMs, 1)),
  ];
}

function percentile(values: readonly number[], part: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) * part)] ?? Number.NaN;
}
