/** Which agent programs a run could use now, also published on the bus. */
import { BusTopic, definedOnly } from '@caisson/protocol';
import { discoverRuntimes, toDiscoveredPayload, type DiscoveredRuntime } from '../discovery/index.ts';
import type { Engine } from '../engine.ts';

/** Starts each program once, for its version. */
export async function discoverHere(
  { config, env, bus }: Pick<Engine, 'config' | 'env' | 'bus'>,
  signal?: AbortSignal,
): Promise<readonly DiscoveredRuntime[]> {
  const found = await discoverRuntimes({
    env,
    home: config.folders.home,
    runtimes: config.runtimes,
    projectRoot: config.projectRoot,
    ...definedOnly({ signal }),
  });
  bus.emit(BusTopic.RUNTIMES_DISCOVERED, toDiscoveredPayload(found));
  return found;
}
