import { findLivingDaemon, LEASE_ROW } from '../daemon/index.ts';
import { createLocalHosts, type Hosts } from '../hosts/index.ts';
import type { Ledger } from '../ledger/index.ts';

/**
 * The hosts of a project. A daemon whose process lives is alive although its socket was removed, until it has made it again:
 * its runs are under way, and settling them would stop them.
 */
export function openHosts(stateDir: string, { kv }: Pick<Ledger, 'kv'>): Hosts {
  const { space, key } = LEASE_ROW;
  return createLocalHosts(stateDir, (hostId) => findLivingDaemon(kv.get(space, key))?.hostId === hostId);
}
