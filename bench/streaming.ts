// What it costs to see a run while it runs: from an event to the screen, and of a command that prints 100 MB. Needs a build.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import { openProject, type Project } from '../tests/e2e/open-project.ts';
import { measureInTurns } from './alternate.ts';
import type { BenchRow } from './bench-row.ts';

const CLI = fileURLToPath(new URL('../packages/cli/bin/caisson.js', import.meta.url));
const ROUNDS = 5;
const BYTES = 100_000_000;
const MOST_MS = 100;
const PRINT = `yes ${'0123456789'.repeat(10)} | head -c ${BYTES}`;
/** The time of each line, in nanoseconds. */
const STAMPS = 'for i in $(seq 60); do date +%s%N; sleep 0.05; done';
const ADAPTER = `export default {
  name: 'mine',
  command: () => ({ argv: ['/bin/sh', '-c', '${STAMPS}'], env: {}, files: [], stdin: null }),
  createStream: () => ({
    line: (text) => [{ kind: 'text', text }],
    end: () => ({ kind: 'answered', reply: 'done' }),
  }),
};\n`;

export async function run(): Promise<BenchRow[]> {
  const ends: (() => void)[] = [];
  const config = 'runtimes: { mine: { adapter: ./adapter.mjs, bin: /bin/sh } }\n';
  const project = openProject({ config }, (end) => ends.push(end));
  try {
    project.write('adapter.mjs', ADAPTER);
    await project.trust();
    return [...(await measureDelays(project)), await measureFlood(project)];
  } finally {
    for (const end of ends.toReversed()) end();
  }
}

async function measureDelays(project: Project): Promise<BenchRow[]> {
  const ours = (...args: string[]): Promise<number> =>
    worstDelay(project, process.execPath, [CLI, 'run', ...args]);
  const bare = await worstDelay(project, '/bin/sh', ['-c', STAMPS]);
  const row = (what: string, value: number): BenchRow => ({
    name: `streaming: from ${what} to the screen`,
    value,
    unit: 'ms p95',
    peer: 'the same program with a pipe',
    peerValue: bare,
    ratio: value / bare,
    target: `under ${MOST_MS} ms`,
    met: value < MOST_MS,
  });
  return [
    row('a line of a command', await ours('--', 'sh', '-c', STAMPS)),
    row('an event of an agent', await ours('--runtime', 'mine', 'do it')),
  ];
}

/** Of every line with a time in it: how late it came, at most, but for the slowest twentieth. */
async function worstDelay(project: Project, file: string, args: readonly string[]): Promise<number> {
  const delays: number[] = [];
  await start(project, file, args, (chunk) => {
    const nowMs = performance.timeOrigin + performance.now();
    for (const [stamp] of chunk.toString().matchAll(/\b\d{19}\b/g)) delays.push(nowMs - Number(stamp) / 1e6);
  });
  // The reply of an agent repeats them all at the end.
  return delays.slice(0, 60).toSorted((a, b) => a - b)[56] ?? Number.NaN;
}

/** The same run with the stream off writes its events, and no output. */
async function measureFlood(project: Project): Promise<BenchRow> {
  const time = async (...options: string[]): Promise<number> => {
    const startedMs = performance.now();
    let bytes = 0;
    const words = [CLI, 'run', '--workspace', 'empty', ...options, '--', 'sh', '-c', PRINT];
    await start(project, process.execPath, words, (chunk) => (bytes += chunk.length));
    if (options.length === 0 && bytes < BYTES) throw new Error(`only ${bytes} bytes came`);
    return performance.now() - startedMs;
  };
  const ms = await measureInTurns(ROUNDS, { on: () => time(), off: () => time('-o', 'ndjson') });
  return {
    name: 'streaming: a command that prints 100 MB into a pipe, seen as it runs',
    value: ms.on,
    unit: 'ms p50',
    peer: 'the same run with the stream off (-o ndjson)',
    peerValue: ms.off,
    ratio: ms.on / ms.off,
    target: '<= 1.05x',
    met: ms.on <= ms.off * 1.05,
  };
}

function start(
  { root, env }: Project,
  file: string,
  args: readonly string[],
  read: (chunk: Buffer) => void,
): Promise<void> {
  const child = spawn(file, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.on('data', read);
  child.stderr.on('data', read);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) resolve();
      else reject(new Error(`${[file, ...args].join(' ')} ended with ${code}`));
    });
  });
}
