/**
 * Many computes and threads through one daemon: the memory and the descriptors of the daemon, of the workers of a sense and of a
 * workflow, and of the sandboxed programs do not grow with them, and the ledger does not grow with the computes. The nightly size is
 * `CAISSON_SOAK_COMPUTES=20000 CAISSON_SOAK_THREADS=1000` (docs/guides/nightly.md).
 */
import { readdirSync, readFileSync } from 'node:fs';
import { createCaisson, type Caisson } from 'caisson';
import { descendants, readProcess } from '@caisson/ground';
import { definedOnly } from '@caisson/protocol';
import { expect, it, onTestFinished } from 'vitest';
import type { Ledger } from '../../packages/engine/src/ledger/index.ts';
import { until } from '../e2e/project.ts';
import { senseOf, serveResidents, workflowOf } from '../e2e/resident-project.ts';

const COMPUTES = Number(process.env['CAISSON_SOAK_COMPUTES'] ?? 500);
const THREADS = Number(process.env['CAISSON_SOAK_THREADS'] ?? 20);
/** Few, so that the worker of the workflow is not idle for long between them. */
const AT_ONCE = 4;
const WINDOWS = 6;
/**
 * With fewer computes, garbage that was not collected yet is more than a leak of MIB_PER_THOUSAND would be: the short form says of
 * memory only that nothing keeps what it was given for good, such as all input and output of each compute. What it does find is
 * a descriptor, a process, a lost or doubled compute, and a row of the ledger for each.
 */
const STEADY_COMPUTES = 10_000;
const NOISE_MIB = 48;
/** Before the heaps have the size that they keep; what they grow by meanwhile is bounded, too. */
const WARM_UP = COMPUTES >= STEADY_COMPUTES ? 24_000 : 100;
const WARM_THREADS = COMPUTES >= STEADY_COMPUTES ? 200 : AT_ONCE;
const MAX_MORE_MIB = 128;
const MIB_PER_THOUSAND = 1;
const MAX_MORE_FILES = 4;

const MEMORY = COMPUTES >= STEADY_COMPUTES ? 'no memory' : `at most ${NOISE_MIB} MiB`;

it(
  `${COMPUTES} computes and ${THREADS} threads leave no file, no process, no row and ${MEMORY}`,
  { timeout: 60_000 + COMPUTES * 20 + THREADS * 500 },
  async () => {
    const { project, ledger, daemonPid } = await serveResidents(
      [
        'senses: { ticks: { file: ticks.ts, on: [{ signal: never }] } }',
        `workflows: { flow: { file: flow.ts, maxQueue: ${AT_ONCE} } }`,
      ],
      {
        'ticks.ts': senseOf(`state.set('n', (state.get('n') ?? 0) + 1); emit('unheard', state.get('n'));`),
        'flow.ts': workflowOf({ one: `return await step('one', () => 1);`, two: `return 'two';` }),
      },
      definedOnly(process.env), // the same user as here
    );
    const caisson = await createCaisson({ cwd: project.root, daemon: true });
    onTestFinished(() => caisson.close());
    await work(caisson, ledger, { computes: AT_ONCE, threads: 1 });
    const first = await measure(caisson, daemonPid);
    await work(caisson, ledger, { computes: WARM_UP, threads: WARM_THREADS });
    const windows: Measured[] = [];
    for (let window = 0; window < WINDOWS; window++) {
      await work(caisson, ledger, {
        computes: Math.ceil(COMPUTES / WINDOWS),
        threads: Math.ceil(THREADS / WINDOWS),
      });
      windows.push(await measure(caisson, daemonPid));
    }
    expect(new Set(windows.map(({ pids }) => pids.join())), 'the same processes').toHaveLength(1);
    const noise = COMPUTES >= STEADY_COMPUTES ? 0 : NOISE_MIB / (COMPUTES / 1000);
    for (const part of PARTS) {
      const memory = windows.map(({ parts }) => parts[part].memoryMiB);
      const files = windows.map(({ parts }) => parts[part].files);
      const more = Math.max(...memory) - first.parts[part].memoryMiB;
      expect(more, `${part}: ${more} MiB more than at first`).toBeLessThan(MAX_MORE_MIB);
      const perThousand = slopeOf(memory) / (COMPUTES / WINDOWS / 1000);
      expect(perThousand, `${part}: ${memory.join(' MiB, ')} MiB`).toBeLessThan(MIB_PER_THOUSAND + noise);
      // A moment may have more: a worker in advance, a connection.
      const [early, late] = [files.slice(0, WINDOWS / 2), files.slice(WINDOWS / 2)];
      expect(Math.min(...late) - Math.min(...early), part).toBeLessThanOrEqual(MAX_MORE_FILES);
    }
    const children = descendants(daemonPid).map(({ pid }) => pid);
    expect(children.filter((pid) => readProcess(pid)?.state === 'Z')).toEqual([]);
  },
);

/** Computes and threads in turns, so that no worker is idle for long; only the threads add to the ledger. */
async function work(
  caisson: Caisson,
  ledger: Ledger,
  { computes, threads }: { readonly computes: number; readonly threads: number },
): Promise<void> {
  const parts = Math.ceil(threads / AT_ONCE);
  for (let part = 0; part < parts; part += 1) {
    const offset = ledger.lastOffset();
    await compute(caisson, Math.ceil(computes / parts));
    expect(ledger.lastOffset()).toBe(offset);
    await runThreads(caisson, ledger, Math.min(AT_ONCE, threads - part * AT_ONCE));
  }
}

/** Each one is made, in its turn: none is lost, none is doubled. */
async function compute(caisson: Caisson, count: number): Promise<void> {
  let last: unknown;
  for (let i = 0; i < count; i++) {
    const { signals, failure } = await caisson.residents.trigger('ticks');
    expect(failure).toBeUndefined();
    const { payload } = signals[0] ?? {};
    if (typeof last === 'number') expect(payload).toBe(last + 1);
    last = payload;
  }
}

async function runThreads({ residents }: Caisson, ledger: Ledger, count: number): Promise<void> {
  const starts = Array.from({ length: count }, () => residents.startThread('flow'));
  for (const started of await Promise.all(starts)) {
    if (!('threadId' in started)) throw new Error(`not started: ${started.dropped}`);
    const isOver = (): boolean => ledger.thread(started.threadId)?.endedAt !== undefined;
    await until(`${started.threadId} has ended`, isOver, 60_000);
    expect(ledger.thread(started.threadId)?.status).toBe('done');
  }
}

const PARTS = [
  'daemon',
  'worker of the sense',
  'its guest',
  'worker of the workflow',
  'guest of it',
] as const;
interface Measured {
  readonly parts: Record<(typeof PARTS)[number], ReturnType<typeof measureProcess>>;
  readonly pids: readonly number[];
}

/** The daemon, and of each resident the worker and the largest program in its sandbox: the one that runs the code. */
async function measure({ residents }: Caisson, daemonPid: number): Promise<Measured> {
  const views = await residents.list();
  const findResident = (wanted: string): [number, number] => {
    const { pid: worker = 0 } = views.find(({ key }) => key === wanted) ?? {};
    const inside = descendants(worker).map(({ pid }) => ({ pid, ...measureProcess(pid) }));
    const [guest] = inside.toSorted((one, other) => other.memoryMiB - one.memoryMiB);
    if (guest === undefined) throw new Error(`${wanted} has no worker`);
    return [worker, guest.pid];
  };
  const pids = [daemonPid, ...findResident('senses.ticks'), ...findResident('workflow.flow')];
  const parts = Object.fromEntries(PARTS.map((part, index) => [part, measureProcess(pids[index] ?? 0)]));
  return { parts: parts as Measured['parts'], pids };
}

function measureProcess(pid: number): { memoryMiB: number; files: number } {
  const [, kib = ''] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return { memoryMiB: Number(kib) / 1024, files: readdirSync(`/proc/${pid}/fd`).length };
}

/** Of the line through the values that has the least squares, for one step. */
function slopeOf(values: readonly number[]): number {
  const middle = (values.length - 1) / 2;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const products = values.map((value, index) => (index - middle) * (value - mean));
  const squares = values.map((_, index) => (index - middle) ** 2);
  const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);
  return sum(products) / sum(squares);
}
