/**
 * Many computes and threads through one daemon: its memory, its descriptors and the ledger do not grow with them. The nightly
 * size is `CAISSON_SOAK_COMPUTES=20000 CAISSON_SOAK_THREADS=1000` (docs/guides/nightly.md).
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
const AT_ONCE = 16;
/** Garbage that was not collected yet is not a leak; what grows with the computes is. */
const NOISE_MIB = 48;
const MIB_PER_THOUSAND = 1;
const MAX_MORE_FILES = 4;

it(
  `${COMPUTES} computes and ${THREADS} threads leave the daemon as it was`,
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
    await compute(caisson, COMPUTES / 5);
    await runThreads(caisson, ledger, AT_ONCE / 4);
    const [early, offset] = [await measureIdle(caisson, daemonPid), ledger.lastOffset()];
    await compute(caisson, COMPUTES);
    expect(ledger.lastOffset()).toBe(offset);
    await runThreads(caisson, ledger, THREADS);
    const late = await measureIdle(caisson, daemonPid);
    expect(late.memoryMiB - early.memoryMiB).toBeLessThan(NOISE_MIB + (COMPUTES / 1000) * MIB_PER_THOUSAND);
    expect(late.files - early.files).toBeLessThanOrEqual(MAX_MORE_FILES);
    expect(late.zombies).toEqual([]);
  },
);

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
  for (let i = 0; i < count; i += AT_ONCE) {
    const starts = Array.from({ length: Math.min(AT_ONCE, count - i) }, () => residents.startThread('flow'));
    for (const started of await Promise.all(starts)) {
      if (!('threadId' in started)) throw new Error(`not started: ${started.dropped}`);
      const isOver = (): boolean => ledger.thread(started.threadId)?.endedAt !== undefined;
      await until(`${started.threadId} has ended`, isOver, 60_000);
      expect(ledger.thread(started.threadId)?.status).toBe('done');
    }
  }
}

/** With the same workers each time: that of the workflow has ended, because it has nothing to do. */
async function measureIdle({ residents }: Caisson, pid: number): Promise<ReturnType<typeof measure>> {
  const isIdle = async (): Promise<boolean> =>
    (await residents.list()).some(({ key, state }) => key === 'workflow.flow' && state === 'idle');
  await until('the worker of the workflow has ended', isIdle, 30_000);
  return measure(pid);
}

function measure(pid: number): { memoryMiB: number; files: number; zombies: number[] } {
  const [, kib = ''] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  const children = descendants(pid).map((child) => child.pid);
  return {
    memoryMiB: Math.round(Number(kib) / 1024),
    files: readdirSync(`/proc/${pid}/fd`).length,
    zombies: children.filter((child) => readProcess(child)?.state === 'Z'),
  };
}
