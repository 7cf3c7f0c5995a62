import { startSpareWorker, type SpareWorker } from '../compute/index.ts';
import { readHostEnvironment, resolveUserFolders } from '../config/index.ts';
import { bundlePath } from './bundle-path.ts';
import { prepareCompileCache } from './compile-cache.ts';

/**
 * Starts the worker of a run that is about to be dispatched, before the rest of the engine is even loaded. Hand it to
 * `createCaisson`, which ends it if it is not needed; it ends by itself with our process.
 */
export function startWorkerInAdvance(): SpareWorker {
  const env = readHostEnvironment();
  return startSpareWorker({
    node: process.execPath,
    workerEntry: bundlePath('worker.mjs'),
    compileCache: prepareCompileCache(resolveUserFolders(env)),
    temporaryFolder: env['TMPDIR'],
  });
}
