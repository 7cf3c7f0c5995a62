/**
 * If a ledger has lost runs, or took the place of another one, nobody knows which blobs those runs need, and a backup may
 * be put back. No blob is removed until a person gives those runs up.
 */
import { BusTopic } from '@caisson/protocol';
import { describeLoss } from '../composition/seal-guard.ts';
import { openUserHeads } from '../composition/user-keys.ts';
import type { Engine } from '../engine.ts';

/** What to do about it. */
export const LOSS_REMEDY =
  'Put the ledger with these runs back. If you do not want them any more: caisson doctor --accept-ledger; the next caisson gc then removes their files';

/** Which runs may need blobs that this ledger does not name, in words; null when there are none. */
export function findLoss({ config, ledger }: Pick<Engine, 'config' | 'ledger'>): string | null {
  return describeLoss(openUserHeads(config).judge(config.stateDir, ledger), ledger.file);
}

export function warnOfLoss({ bus }: Pick<Engine, 'bus'>, lost: string): void {
  const message = `no blob was removed: ${lost}. ${LOSS_REMEDY}`;
  bus.emit(BusTopic.WARNING, { source: 'store', message });
}
