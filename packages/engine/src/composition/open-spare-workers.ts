import { createSpareWorkers, inheritVariables, type SpareWorkers } from '../compute/index.ts';
import { readHostEnvironment, resolveUserFolders } from '../config/index.ts';
import { bundlePath } from './bundle-path.ts';
import { prepareCompileCache } from './compile-cache.ts';

/**
 * The source of workers that are started in advance. It needs nothing else of the engine, so a caller can start one
 * before the engine is loaded, and hand the source to `createCaisson`, which stops it at the end. A worker that waits ends
 * with our process.
 */
export function openSpareWorkers({ keepsNext }: { readonly keepsNext: boolean }): SpareWorkers {
  const env = readHostEnvironment();
  return createSpareWorkers({
    node: process.execPath,
    workerEntry: bundlePath('worker.mjs'),
    compileCache: prepareCompileCache(resolveUserFolders(env)),
    inherited: inheritVariables(env),
    keepsNext,
  });
}
