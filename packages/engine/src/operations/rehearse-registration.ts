/** Whether the first registration of a project would be refused, found out before its state folder is made. */
import { join } from 'node:path';
import { systemClock } from '@caisson/ground';
import { loadConfig } from '../composition/trusted-config.ts';
import { withScratchFolder } from '../composition/scratch-folder.ts';
import { getCurrentFolder } from '../config/index.ts';
import { openRegistry } from '../registry/index.ts';
import { openLocalStore } from '../store/index.ts';
import { inspectStateFolder } from '../trust/index.ts';
import { createRegistryApi, type RegistryApi } from './registry-api.ts';

/** Throws what the registration would be refused with. Does nothing where there is a state folder already. */
export async function rehearseRegistration(
  register: (registry: RegistryApi) => Promise<unknown>,
  { stateDir }: { readonly stateDir?: string | undefined } = {},
): Promise<void> {
  const config = await loadConfig({ flags: { state: stateDir } });
  if (inspectStateFolder(config).kind !== 'absent') return;
  await withScratchFolder(async (scratch) => {
    const store = openLocalStore(join(scratch, 'store'));
    const registry = openRegistry({ folder: join(scratch, 'registry'), store, clock: systemClock });
    await register(createRegistryApi({ registry, store, config }, getCurrentFolder()));
  });
}
