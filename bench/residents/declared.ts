// What residents cost that are declared and were never used.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { descendants } from '@caisson/ground';

import type { BenchRow } from '../bench-row.ts';
import { openRuntime } from './open-runtime.ts';

const RESIDENTS = 1000;

export async function measureDeclared(): Promise<BenchRow[]> {
  const ours = await openRuntime();
  try {
    usedBytes(); // collects what the start left
    const [bytes, processes] = [usedBytes(), descendants(process.pid).length];
    for (let index = 0; index < RESIDENTS; index++)
      ours.runtime.declare(ours.plan(`group-${index}`), { isKept: true });
    const mib = (usedBytes() - bytes) / 1024 ** 2;
    const started = descendants(process.pid).length - processes;
    return [
      bounded('memory', mib, 'MiB', 1, '< 1 MiB', mib < 1),
      bounded('processes', started, 'processes', 0, 'none', started === 0),
    ];
  } finally {
    await ours.close();
  }
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
