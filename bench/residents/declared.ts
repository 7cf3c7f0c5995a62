// What residents cost that are in `caisson.yaml` and were never used: the configuration, what watches and times them, and their
// keys.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { descendants } from '@caisson/ground';

import { loadConfig } from '../../packages/engine/src/config/index.ts';
import {
  createResidents,
  type SenseSettings,
  type Threads,
} from '../../packages/engine/src/residents/index.ts';
import type { BenchRow } from '../bench-row.ts';
import { openEngine, warn, type OpenEngine } from './open-runtime.ts';

const RESIDENTS = 1000;
const CODE = 'export default { compute: () => undefined };\n';
const NO_THREADS: Threads = {
  start: () => Promise.resolve({ dropped: 'rejected' }),
  list: () => [],
  show: () => null,
  cancel: () => Promise.resolve(false),
  recoverThreadsForWorker: () => Promise.resolve(),
  stop: () => Promise.resolve(),
};

export async function measureDeclared(): Promise<BenchRow[]> {
  const open = await openEngine();
  const { projectRoot } = open.engine.config;
  let senses = await readSenses(open, 0);
  const residents = await createResidents({
    ...open.engine,
    ...{ projectRoot, starter: open.starter, warn },
    readSettings: () => ({ senses, workflows: [] }),
    openThreads: () => NO_THREADS,
  });
  const declare = async (count: number): Promise<void> => {
    senses = await readSenses(open, count);
    await residents.reload();
  };
  try {
    await declare(RESIDENTS); // what is compiled and cached once does not count
    await declare(0);
    const [bytes, processes] = [usedBytes(), descendants(process.pid).length];
    await declare(RESIDENTS);
    const mib = (usedBytes() - bytes) / 1024 ** 2;
    const started = descendants(process.pid).length - processes;
    if (residents.residents().length !== RESIDENTS) throw new Error('not all are declared');
    return [
      bounded('memory', mib, 'MiB', 1, '< 1 MiB', mib < 1),
      bounded('processes', started, 'processes', 0, 'none', started === 0),
    ];
  } finally {
    await residents.stop();
    await open.close();
  }
}

/** As a user declares them; the user has agreed. */
async function readSenses({ scratch }: OpenEngine, count: number): Promise<readonly SenseSettings[]> {
  const names = Array.from({ length: count }, (_, index) => `sense-${index}`);
  const lines = names.map((name) => `  ${name}: { file: senses/${name}.mjs, interval: 1h }`);
  mkdirSync(join(scratch.project, 'senses'), { recursive: true });
  for (const name of names) writeFileSync(join(scratch.project, 'senses', `${name}.mjs`), CODE);
  const text = count === 0 ? '' : ['senses:', ...lines, ''].join('\n');
  writeFileSync(join(scratch.project, 'caisson.yaml'), text);
  const decideTrust = () => Promise.resolve({ kind: 'granted', digest: '' } as const);
  const { senses } = await loadConfig({ cwd: scratch.project, env: scratch.env, decideTrust });
  return Object.values(senses);
}

function bounded(
  what: string,
  value: number,
  unit: string,
  bound: number,
  target: string,
  met: boolean,
): BenchRow {
  const name = `residents: ${what} of ${RESIDENTS} that nobody has used`;
  return {
    name,
    value,
    unit,
    peer: 'the bound',
    peerValue: bound,
    ratio: bound === 0 ? 1 : value / bound,
    target,
    met,
  };
}

function usedBytes(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
