/**
 * Starting the worker takes longer than loading the CLI, so `caisson run` begins with it (decision 0006). This is a bundle
 * of its own, loaded before the CLI; the two meet in one property of the global object.
 */
import { startWorkerInAdvance, type SpareWorker } from '@caisson/engine';

const PLACE = Symbol.for('caisson.early-worker');

/** For a command line that looks like one that needs a worker; one that was not needed ends with this process. */
export function startEarlyWorker(words: readonly string[]): void {
  const end = words.indexOf('--');
  const own = end === -1 ? words : words.slice(0, end);
  if (own.some((word) => ['--help', '-h', '--detach'].includes(word))) return;
  try {
    Reflect.set(globalThis, PLACE, startWorkerInAdvance());
  } catch {
    // what is wrong here (no home folder) is wrong for the CLI too, and told there
  }
}

/** The worker that was started so, once. */
export function takeEarlyWorker(): SpareWorker | undefined {
  const worker = Reflect.get(globalThis, PLACE) as SpareWorker | undefined;
  Reflect.deleteProperty(globalThis, PLACE);
  return worker;
}
