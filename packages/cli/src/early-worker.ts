/**
 * Starting the worker takes longer than loading the CLI, so `caisson run` begins with it (decision 0006). This is a
 * separate bundle, loaded before the CLI; the two share one property of the global object.
 */
import { openSpareWorkers, type SpareWorkers } from '@caisson/engine';
import { ownWords } from './choose-bundle.ts';

const PLACE = Symbol.for('caisson.spare-workers');

/** For a command line that probably needs a worker; an unused one ends with this process. */
export function startEarlyWorker(words: readonly string[]): void {
  if (ownWords(words).some((word) => ['--help', '-h', '--detach'].includes(word))) return;
  try {
    ownSpareWorkers().warm({ usesNetwork: !words.includes('--') });
  } catch {
    // an error here (no home folder) also occurs in the CLI, and is reported there
  }
}

/** The source of workers of this process: the same one for the early bundle and for the CLI. */
export function ownSpareWorkers(): SpareWorkers {
  const known = Reflect.get(globalThis, PLACE) as SpareWorkers | undefined;
  if (known !== undefined) return known;
  const spares = openSpareWorkers({ keepsNext: false });
  Reflect.set(globalThis, PLACE, spares);
  return spares;
}
