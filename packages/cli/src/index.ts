/** The public library: what the CLI itself is built on. */
import { createCaisson as createBare, type Caisson, type CaissonOptions } from '@caisson/engine';
import { VERSION } from './version.ts';

export * from '@caisson/engine';
export * from '@caisson/protocol';
export { VERSION };

/** Opens the project at `cwd`: through its daemon if there is one of this version, else in this process. */
export function createCaisson(options: CaissonOptions = {}): Promise<Caisson> {
  return createBare({ version: VERSION, ...options });
}
