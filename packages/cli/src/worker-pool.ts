import {
  createCaisson,
  WorkerPool as Pool,
  type WorkerPoolConfig,
  type WorkerPoolDeps,
} from '@caisson/engine';
import { VERSION } from './version.ts';

/**
 * A pool of ephemeral workers: each task gets its own sandbox and its own branch, and ends in a checked hand-off. State and
 * settings are those of the project at `config.cwd`.
 */
export class WorkerPool extends Pool {
  /** `workerPrompt`: the system prompt of every worker, or `@file`. */
  constructor(config: WorkerPoolConfig, workerPrompt = '', deps: Partial<WorkerPoolDeps> = {}) {
    super(config, workerPrompt, {
      open: (options) => createCaisson({ version: VERSION, ...options }),
      now: () => Date.now(),
      setTimeout: (work, ms) => setTimeout(work, ms).unref(),
      clearTimeout: (timer) => clearTimeout(timer),
      log: () => undefined,
      ...deps,
    });
  }
}
