import { join } from 'node:path';
import type { ResolvedConfig } from '../config/index.ts';
import { openKeyring, openLedgerHeads, type Keyring, type LedgerHeads } from '../evidence/index.ts';

/** The keys belong to the user, not to the project: one key, many projects. */
export function openUserKeyring({ folders, keys }: Pick<ResolvedConfig, 'folders' | 'keys'>): Keyring {
  const { agentSocket, identity } = keys;
  const agent = agentSocket === null ? null : { socket: agentSocket, identity };
  return openKeyring(join(folders.data, 'keys'), agent);
}

/** The heads of all ledgers of this user, outside of every project. */
export function openUserHeads({ folders }: Pick<ResolvedConfig, 'folders'>): LedgerHeads {
  return openLedgerHeads(join(folders.state, 'ledgers'));
}
