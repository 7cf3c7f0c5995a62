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
  type ResidentSettings,
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
  let declared = await readDeclared(open, 0);
  const residents = await createResidents({
    ...open.engine,
    ...{ projectRoot, starter: open.starter, warn },
    readSettings: () => declared,
    openThreads: () => NO_THREADS,
  });
  const declare = async (count: number): Promise<void> => {
    declared = await readDeclared(open, count);
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

/** As a user declares them, half of them senses and half workflows; the user has agreed. */
async function readDeclared({ scratch }: OpenEngine, count: number): Promise<ResidentSettings> {
  const names = Array.from({ length: count / 2 }, (_, index) => `each-${index}`);
  mkdirSync(join(scratch.project, 'residents'), { recursive: true });
  for (const name of names) writeFileSync(join(scratch.project, 'residents', `${name}.mjs`), CODE);
  const declare = (how: string): string[] =>
    names.map((name) => `  ${name}: { file: residents/${name}.mjs, ${how} }`);
  const lines = ['senses:', ...declare('interval: 1h'), 'workflows:', ...declare('on: [never]'), ''];
  writeFileSync(join(scratch.project, 'caisson.yaml'), count === 0 ? '' : lines.join('\n'));
  const decideTrust = () => Promise.resolve({ kind: 'granted', digest: '' } as const);
  const { senses, workflows } = await loadConfig({ cwd: scratch.project, env: scratch.env, decideTrust });
  return { senses: Object.values(senses), workflows: Object.values(workflows) };
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

/** After the second collection buffers that the first one freed are subtracted, too. */
function usedBytes(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  for (let times = 0; times < 2; times += 1) collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
