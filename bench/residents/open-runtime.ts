import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '@caisson/ground';

import { openResidentStarter } from '../../packages/engine/src/composition/open-resident-starter.ts';
import { openSpareWorkers } from '../../packages/engine/src/composition/open-spare-workers.ts';
import { loadConfig } from '../../packages/engine/src/composition/trusted-config.ts';
import { createEngine, type Engine } from '../../packages/engine/src/engine.ts';
import type {
  ResidentPlan,
  ResidentStarter,
  WorkerRuntime,
} from '../../packages/engine/src/residents/index.ts';
import { createWorkerRuntime } from '../../packages/engine/src/residents/worker-runtime.ts';
import { createScratch, type Scratch } from '../dispatch/scratch.ts';

const GRANT = {
  read: [],
  write: [],
  hosts: [],
  limits: { memory: 512 * 1024 ** 2, pids: 128, disk: 256 * 1024 ** 2 },
};
const ORDER = { cause: { kind: 'user' }, timeoutMs: 30_000, graceMs: 5000 } as const;
/** What its compute does: emits one signal, or nothing. */
const SENSES = {
  answer: `export default { compute: ({ emit }) => emit('answer', { value: 42 }) };\n`,
  nothing: `export default { compute: () => undefined };\n`,
};

export type BenchSense = keyof typeof SENSES;

export interface OpenEngine {
  readonly scratch: Scratch;
  readonly engine: Engine;
  readonly starter: ResidentStarter;
  close(): Promise<void>;
}

export interface OpenRuntime extends OpenEngine {
  readonly runtime: WorkerRuntime;
  /** A group with this sense. */
  plan(sense: BenchSense): ResidentPlan;
  /** One compute, and the word that what it emitted is recorded; a failed one is not measured. */
  compute(sense: BenchSense): Promise<void>;
}

export async function openEngine(): Promise<OpenEngine> {
  const scratch = createScratch('residents');
  const config = await loadConfig({ cwd: scratch.project, env: scratch.env });
  const engine = createEngine(config, scratch.project, {
    spareWorkers: openSpareWorkers({ keepsNext: false }),
  });
  return {
    scratch,
    engine,
    starter: openResidentStarter(engine.rooms),
    async close() {
      await engine.close();
      scratch.remove();
    },
  };
}

export const warn = (message: string): void => void process.stderr.write(`${message}\n`);

/** The workers of an engine, without what decides when a sense computes. A crash costs no pause, and blocks nothing. */
export async function openRuntime(): Promise<OpenRuntime> {
  const open = await openEngine();
  const { ledger, recorder } = open.engine;
  for (const [name, text] of Object.entries(SENSES))
    writeFileSync(join(open.scratch.project, `${name}.mjs`), text);
  const runtime = createWorkerRuntime({
    ...{ starter: open.starter, clock: systemClock, recorder, ledger, warn },
    limits: { respawnMs: 0, crashes: { limit: 1000, windowMs: 60_000 } },
    stamp: open.engine.stamp,
    onUndelivered: () => undefined,
  });
  return {
    ...open,
    runtime,
    plan: (sense) => ({
      key: `senses.${sense}`,
      kind: 'senses',
      modules: [{ name: sense, file: join(open.scratch.project, `${sense}.mjs`) }],
      grant: GRANT,
      writable: [],
      digest: sense,
    }),
    async compute(sense) {
      const [key, computeId] = [`senses.${sense}`, randomUUID()];
      const order = { name: sense, computeId, causes: [], ...ORDER };
      const { failure, signals } = await runtime.compute(key, order);
      if (failure !== undefined) throw new Error(`${failure.kind}: ${failure.detail}`);
      if (signals.length > 0) runtime.delivered(key, sense, computeId);
    },
    async close() {
      await runtime.shutdown({ graceMs: 0 });
      await open.close();
    },
  };
}
