import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '@caisson/ground';

import { openResidentStarter } from '../../packages/engine/src/composition/open-resident-starter.ts';
import { openSpareWorkers } from '../../packages/engine/src/composition/open-spare-workers.ts';
import { loadConfig } from '../../packages/engine/src/composition/trusted-config.ts';
import { createEngine } from '../../packages/engine/src/engine.ts';
import type { ResidentPlan, WorkerRuntime } from '../../packages/engine/src/residents/index.ts';
import { createWorkerRuntime } from '../../packages/engine/src/residents/worker-runtime.ts';
import { createScratch, type Scratch } from '../dispatch/scratch.ts';

const GRANT = {
  read: [],
  write: [],
  hosts: [],
  limits: { memory: 512 * 1024 ** 2, pids: 128, disk: 256 * 1024 ** 2 },
};
const ORDER = { cause: { kind: 'user' }, timeoutMs: 30_000, graceMs: 5000 } as const;

export interface OpenRuntime {
  readonly scratch: Scratch;
  readonly runtime: WorkerRuntime;
  /** A group with one sense, which emits one signal. */
  plan(group: string): ResidentPlan;
  /** One compute; a failed one is not measured. */
  compute(group: string): Promise<void>;
  close(): Promise<void>;
}

/** The workers of an engine, without what decides when a sense computes. */
export async function openRuntime(): Promise<OpenRuntime> {
  const scratch = createScratch('residents');
  const file = join(scratch.project, 'sense.mjs');
  writeFileSync(file, `export default { compute: ({ emit }) => emit('answer', { value: 42 }) };\n`);
  const config = await loadConfig({ cwd: scratch.project, env: scratch.env });
  const engine = createEngine(config, scratch.project, {
    spareWorkers: openSpareWorkers({ keepsNext: false }),
  });
  const { ledger, recorder } = engine;
  const warn = (message: string): void => void process.stderr.write(`${message}\n`);
  const starter = openResidentStarter(engine.rooms);
  const runtime = createWorkerRuntime({
    starter,
    clock: systemClock,
    recorder,
    kv: ledger.kv,
    warn,
    onUndelivered: () => undefined,
  });
  return {
    scratch,
    runtime,
    plan: (group) => ({
      key: `senses.${group}`,
      kind: 'senses',
      modules: [{ name: group, file }],
      grant: GRANT,
      writable: [],
      digest: group,
    }),
    async compute(group) {
      const order = { name: group, computeId: randomUUID(), causes: [], ...ORDER };
      const { failure } = await runtime.compute(`senses.${group}`, order);
      if (failure !== undefined) throw new Error(`${failure.kind}: ${failure.detail}`);
    },
    async close() {
      await runtime.shutdown({ graceMs: 0 });
      await engine.close();
      scratch.remove();
    },
  };
}
