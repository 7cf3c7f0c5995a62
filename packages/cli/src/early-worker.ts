/**
 * Starting the worker takes longer than loading the CLI, so `caisson run` begins with it (decision 0006). This is a
 * separate bundle, loaded before the CLI; the two share one property of the global object.
 */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { getCurrentFolder, openSpareWorkers, type SpareWorkers } from '@caisson/engine';

const PLACE = Symbol.for('caisson.spare-workers');

/** For a command line that probably needs a worker; an unused one ends with this process. */
export function startEarlyWorker(words: readonly string[]): void {
  const end = words.indexOf('--');
  const own = end === -1 ? words : words.slice(0, end);
  if (own.some((word) => ['--help', '-h', '--detach'].includes(word))) return;
  try {
    if (!hasDaemon()) ownSpareWorkers().warm();
  } catch {
    // an error here (no home folder) also occurs in the CLI, and is reported there
  }
}

/** A daemon has workers of its own. A guess, by the folder where most projects have their state. */
export function hasDaemon(folder = getCurrentFolder()): boolean {
  if (existsSync(join(folder, '.caisson/runtime/daemon.sock'))) return true;
  const above = dirname(folder);
  return above !== folder && hasDaemon(above);
}

/** The source of workers of this process: the same one for the early bundle and for the CLI. */
export function ownSpareWorkers(): SpareWorkers {
  const known = Reflect.get(globalThis, PLACE) as SpareWorkers | undefined;
  if (known !== undefined) return known;
  const spares = openSpareWorkers({ keepsNext: false });
  Reflect.set(globalThis, PLACE, spares);
  return spares;
}
