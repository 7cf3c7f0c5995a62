/** The registry of a project without a state folder: nothing is registered, and what its file declares is only looked at. */
import { join } from 'node:path';
import { withScratchFolder } from '../composition/scratch-folder.ts';
import type { Engine } from '../engine.ts';
import { openRegistry } from '../registry/index.ts';
import { openLocalStore } from '../store/index.ts';
import { createRegistryApi, type RegistryApi } from './registry-api.ts';

/** To name a declared agent it is stored; a store without a state folder around it would be taken for a foreign one. */
export function createUnstoredRegistryApi(
  engine: Pick<Engine, 'registry' | 'store' | 'config' | 'clock'>,
  cwd: string,
): RegistryApi {
  const { config, clock } = engine;
  const inScratch = <T>(read: (registry: RegistryApi) => Promise<T>): Promise<T> =>
    withScratchFolder((scratch) => {
      const store = openLocalStore(join(scratch, 'store'));
      const registry = openRegistry({ folder: join(scratch, 'registry'), store, clock });
      return read(createRegistryApi({ registry, store, config }, cwd));
    });
  return {
    ...createRegistryApi(engine, cwd),
    list: (kind) => inScratch((registry) => registry.list(kind)),
    get: (kind, reference) => inScratch((registry) => registry.get(kind, reference)),
  };
}
