/**
 * Every misbehaviour, of a sense and of a role, in one real runtime: it has a typed ending, the next work of its key and the work of
 * another key are served in time, and in the end nothing is left. Elsewhere, because they need other limits: code that never gets ready
 * and code that fills its disk (resident-endings.test.ts), code that ignores a stop (resident-turns.test.ts, residents-shutdown.test.ts
 * of the end-to-end tests), a crash in a loop (residents-workers.test.ts there), a sense in a system call (stuck-sense.test.ts).
 */
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { Worker } from 'node:worker_threads';
import { createStamp, findByMarker, listOwnCgroups, MARKER_NAME, systemClock } from '@caisson/ground';
import { expect, it, onTestFinished } from 'vitest';
import { createMemoryLedger, createRecorder } from '../ledger/index.ts';
import type { ComputeOutcome, TurnOutcome } from './contract.ts';
import { openStarter } from './fixtures/open-starter.ts';
import { createWorkerRuntime } from './worker-runtime.ts';

const RESPAWN_MS = 200;
const SERVED_MS = 100;
/** A new thread with the user's file takes at most so many times as long as two bare ones. */
const THREADS = 3;

const CODE = `
  import { spawn } from 'node:child_process';
  import { once } from 'node:events';
  import { writeSync } from 'node:fs';
  import { createServer } from 'node:net';
  import { parentPort } from 'node:worker_threads';
  const forever = () => new Promise(() => setInterval(() => {}, 1000));
  const HARM = {
    well: () => 'well',
    throws: () => { throw new Error('broken'); },
    'rejects later': async () => { Promise.reject(new Error('late')); await forever(); },
    'rejects after its return': () => { setImmediate(() => Promise.reject(new Error('late'))); return 'well'; },
    exits: () => process.exit(3),
    aborts: () => process.abort(),
    'exhausts its heap': () => { const all = []; for (;;) all.push(new Array(1000).fill(Math.random())); },
    loops: () => { for (;;); },
    'blocks in Atomics.wait': () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0),
    'forks and detaches': async () => {
      const child = spawn('setsid', ['sleep', '600'], { detached: true, stdio: 'ignore' });
      await once(child, 'spawn'); child.unref(); return 'well';
    },
    'keeps a socket open': async () => { await once(createServer().listen(0, '127.0.0.1'), 'listening'); return 'well'; },
    'patches globals': () => { JSON.stringify = () => 'x'; JSON.parse = () => null; globalThis.setTimeout = null; return 'well'; },
    'writes garbage to its channel': async () => { writeSync(3, 'garbage\\n'); await forever(); },
    'floods its channel': async () => { try { for (;;) writeSync(3, 'x'.repeat(65536)); } catch {} await forever(); },
    'posts a pin without members': () => { parentPort.postMessage('{"kind":"pinned"}'); return 'well'; },
    'posts an end without signals': () => {
      for (const kind of ['computed', 'turned']) parentPort.postMessage(JSON.stringify({ kind }));
      return 'well';
    },
    'floods the main thread': () => { for (;;) parentPort.postMessage('x'.repeat(65536)); },
    'stops its process': async () => { process.kill(process.pid, 'SIGSTOP'); await forever(); },
    'kills its process': async () => { process.kill(process.pid, 'SIGKILL'); await forever(); },
  };`;

const SENSE = `${CODE}
  export default { async compute({ cause, emit }) { emit('done', await HARM[cause.payload]()); } };`;
const FLOW = `${CODE}
  export default { route: () => 'role', roles: { role: ({ payload }) => HARM[payload]() } };`;

/** What it comes to, and why its process ended if it did. */
const CASES: readonly [harm: string, sense: string, role: string, ending?: RegExp][] = [
  ['throws', 'threw', 'threw'],
  ['rejects later', 'threw', 'threw'],
  ['rejects after its return', 'well', 'well'],
  ['exits', 'exited', 'exited'],
  ['aborts', 'threw', 'threw'],
  ['exhausts its heap', 'memory', 'memory'],
  ['loops', 'timeout', 'timeout'],
  ['blocks in Atomics.wait', 'timeout', 'timeout'],
  ['forks and detaches', 'well', 'well'],
  ['keeps a socket open', 'well', 'well'],
  ['patches globals', 'well', 'well'],
  ['posts a pin without members', 'well', 'well'],
  ['posts an end without signals', 'well', 'well'],
  ['writes garbage to its channel', 'crashed', 'crashed', /^protocol$/],
  ['floods its channel', 'crashed', 'crashed', /^protocol$/],
  ['floods the main thread', 'crashed', 'crashed', /^(?:memory|signal|unresponsive)$/],
  ['stops its process', 'crashed', 'crashed', /^unresponsive$/],
  ['kills its process', 'crashed', 'crashed', /^signal$/],
];

async function open() {
  const { starter, plan, rooms, stateDir } = await openStarter({ unresponsiveMs: 1500 });
  const ledger = createMemoryLedger();
  const recorder = createRecorder({ ledger, clock: systemClock });
  const started: Started[] = [];
  recorder.listen(({ type, data }) => {
    if (type === 'resident.started')
      started.push({ ...(data as Omit<Started, 'readyAt'>), readyAt: performance.now() });
  });
  const nothing = (): void => undefined;
  const limits = { respawnMs: RESPAWN_MS };
  const runtime = createWorkerRuntime({
    ...{ starter, clock: systemClock, recorder, ledger, limits },
    ...{ warn: nothing, onUndelivered: nothing, stamp: createStamp(Buffer.from('a secret')) },
  });
  onTestFinished(() => runtime.shutdown({ graceMs: 0 }));
  const grant = {
    limits: { memory: 224 * 1024 ** 2, pids: 128, disk: 256 * 1024 ** 2 },
    crashes: { limit: 1000, windowMs: 60_000 },
  };
  runtime.declare(plan('senses', { bad: SENSE }, grant), { isKept: true });
  runtime.declare(plan('workflow', { flow: FLOW }, grant), { isKept: true });
  runtime.declare(plan('senses', { sibling: SENSE }, grant, 'senses.sibling'), { isKept: true });
  let works = 0;
  const sense = async (harm: string, name = 'bad', key = 'senses.group'): Promise<string> => {
    works += 1;
    const cause = { kind: 'signal', name: 'go', signalId: `s${works}`, payload: harm } as const;
    const order = { name, computeId: `c${works}`, cause, causes: [], timeoutMs: 60_000, graceMs: 100 };
    const isLoop = ['loops', 'blocks in Atomics.wait'].includes(harm);
    return describeCompute(await runtime.compute(key, { ...order, ...(isLoop ? { timeoutMs: 300 } : {}) }));
  };
  const role = async (harm: string): Promise<string> => {
    const order = {
      ...{ threadId: 'thread_00000000000000000001', round: 0, trigger: { kind: 'user' as const } },
      ...{ payload: harm, messages: [], steps: [], graceMs: 100 },
    };
    return describeTurn(await runtime.turn('workflow.flow', order, () => undefined).outcome);
  };
  const sibling = (): Promise<string> => sense('well', 'sibling', 'senses.sibling');
  /** How long the work has taken, without the starts of its worker that were reported meanwhile, and the pauses before them. */
  const time = async (key: string, work: () => Promise<string>): Promise<number> => {
    const startedAt = performance.now();
    expect(await work()).toBe('well');
    const ms = performance.now() - startedAt;
    const starts = started.filter((start) => start.key === key && start.readyAt >= startedAt);
    const startMs = starts.map((start) => RESPAWN_MS + Math.min(start.startMs, start.readyAt - startedAt));
    return startMs.reduce((rest, each) => rest - each, ms);
  };
  const expectNothingLeft = (): void => {
    expect(started.flatMap(({ resident }) => findByMarker(MARKER_NAME, resident))).toEqual([]);
    const groups = new Set(listOwnCgroups().map(({ name }) => name));
    expect(started.filter(({ resident }) => groups.has(resident))).toEqual([]);
    expect(rooms.ledger.kv.list('residents')).toEqual([]);
    expect(readdirSync(`${stateDir}/runtime/residents`)).toEqual([]);
  };
  return { runtime, sense, role, sibling, time, expectNothingLeft };
}

/** A start that the runtime reported. */
interface Started {
  readonly key: string;
  readonly resident: string;
  readonly startMs: number;
  readonly readyAt: number;
}

function describeCompute({ failure, signals }: ComputeOutcome): string {
  return failure?.kind ?? String(signals[0]?.payload);
}

function describeTurn(outcome: TurnOutcome): string {
  if (outcome.kind === 'failed') return outcome.failure.kind;
  return outcome.kind === 'message' ? String(outcome.content) : outcome.kind;
}

/** What two threads that do nothing cost at this moment: a busy machine is no fault of ours. */
async function timeBareThreads(): Promise<number> {
  const startedAt = performance.now();
  for (let thread = 0; thread < 2; thread += 1) await once(new Worker('', { eval: true }), 'exit');
  return performance.now() - startedAt;
}

it(
  'every misbehaviour costs itself alone, and the next work is served in time',
  { timeout: 240_000 },
  async () => {
    const { runtime, sense, role, sibling, time, expectNothingLeft } = await open();
    for (const work of [() => sense('well'), () => role('well'), sibling]) expect(await work()).toBe('well');
    const tooLate: string[] = [];
    for (const [who, key, work, column] of [
      ['sense', 'senses.group', sense, 1],
      ['role', 'workflow.flow', role, 2],
    ] as const)
      for (const row of CASES) {
        const [harm, , , ending] = row;
        const { starts = 0 } = runtime.view(key) ?? {};
        const [outcome, siblingMs] = await Promise.all([work(harm), time('senses.sibling', sibling)]);
        expect(`${who} ${harm}: ${outcome}`).toBe(`${who} ${harm}: ${row[column]}`);
        const bareBeforeMs = await timeBareThreads();
        const nextMs = await time(key, () => work('well'));
        if (ending !== undefined) {
          expect(runtime.view(key)?.lastEnding?.why, `${who} ${harm}`).toMatch(ending);
          expect(runtime.view(key)?.starts, `${who} ${harm}`).toBeGreaterThan(starts);
        } else expect(runtime.view(key)?.starts, `${who} ${harm}`).toBe(starts);
        const load = Math.max(1, (loadavg()[0] ?? 1) / availableParallelism());
        const bareMs = Math.max(bareBeforeMs, await timeBareThreads());
        // The average of a minute has our own loops in it: what threads cost at this moment limits how much it allows.
        const slackMs = Math.min(SERVED_MS * (load - 1) + bareMs, THREADS * bareMs);
        for (const [what, ms, servedMs] of [
          ['next', nextMs, SERVED_MS + slackMs],
          ['sibling', siblingMs, SERVED_MS + bareMs], // it needs no new thread
        ] as const)
          if (ms > servedMs)
            tooLate.push(
              `${who} ${harm}: ${what} after ${Math.round(ms)} ms, at most ${Math.round(servedMs)}`,
            );
      }
    expect(tooLate).toEqual([]);
    await runtime.shutdown({ graceMs: 0 });
    expectNothingLeft();
  },
);
