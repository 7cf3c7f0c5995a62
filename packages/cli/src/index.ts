/** The public library: what the CLI itself is built on. */
import { createCaisson as createBare, type Caisson, type CaissonOptions } from '@caisson/engine';
import { refuseOldNode } from './refuse-old-node.ts';
import { VERSION } from './version.ts';

export * from '@caisson/engine';
export * from '@caisson/protocol';
export type { PoolTask as Task } from '@caisson/engine'; // instead of the one inside a job
export { WorkerPool } from './worker-pool.ts';
export { VERSION };

refuseOldNode(process.versions.node);

/** Opens the project at `cwd`: through its daemon if there is one of this version, else in this process. */
export function createCaisson(options: CaissonOptions = {}): Promise<Caisson> {
  return createBare({ version: VERSION, ...options });
}
