import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { listNames, statOrNull, type LocalLayout } from './local-layout.ts';

/** A write in progress refreshes its temp file; nothing alive is this old. */
const TEMP_MAX_AGE_MS = 3_600_000;

/** Removes what killed writers left behind; returns how many files that were. */
export function sweepTemps({ temps }: LocalLayout): number {
  const old = listNames(temps).filter((name) => {
    const stats = statOrNull(join(temps, name));
    return stats !== null && Number(stats.mtimeMs) <= Date.now() - TEMP_MAX_AGE_MS;
  });
  for (const name of old) rmSync(join(temps, name), { force: true, recursive: true });
  return old.length;
}
