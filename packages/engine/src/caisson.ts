/** The library: Caisson for programs and for the CLI. */
import { BusTopic } from '@caisson/protocol';
import { withFollowers } from './composition/follow-on.ts';
import { openBus } from './composition/open-bus.ts';
import { reachDaemon, type Opening } from './composition/reach-daemon.ts';
import { listUnread, withTrust } from './composition/trusted-config.ts';
import { createLiveConfig, getCurrentFolder, type ConfigChange } from './config/index.ts';
import type { Caisson, CaissonOptions } from './caisson-contract.ts';
import type { OpenedHost } from './composition/open-here.ts';

export type * from './caisson-contract.ts';

/**
 * Opens the project at `cwd`: through its daemon if there is one, else in this process. That settles what a dead host has
 * left before it answers anything.
 */
export async function createCaisson(options: CaissonOptions = {}): Promise<Caisson> {
  const opening = await readProject(options);
  const openHere = async (): Promise<Caisson> => {
    await options.rehearse?.(opening.live.current);
    return (await loadEngine(opening, options)).forOwner();
  };
  const remote = await reachDaemon(opening, options);
  return remote === null ? openHere() : withFollowers(remote, openHere);
}

/** Opens it in this process, also for other processes: what a daemon serves. */
export async function openHost(options: CaissonOptions = {}): Promise<OpenedHost> {
  return loadEngine(await readProject(options), options);
}

async function readProject(options: CaissonOptions): Promise<Opening> {
  const cwd = options.cwd ?? getCurrentFolder();
  const bus = openBus();
  const how = {
    cwd,
    flags: { ...options.flags, state: options.stateDir },
    startsNothing: (options.onUnread ?? options.onUnsettled) !== undefined,
  };
  const onChange = (change: ConfigChange): void => bus.emit(BusTopic.CONFIG_CHANGED, { ...change });
  const live = await createLiveConfig(withTrust(how), onChange);
  for (const line of listUnread(live.current)) options.onUnread?.(line);
  return { cwd, bus, live };
}

/** Who has a daemon need not load the engine. */
async function loadEngine(opening: Opening, options: CaissonOptions): Promise<OpenedHost> {
  const { openHere } = await import('./composition/in-process.ts');
  return openHere(opening, options);
}
