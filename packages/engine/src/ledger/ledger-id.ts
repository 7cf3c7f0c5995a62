import { randomBytes } from 'node:crypto';

import type { KeyValues, Ledger } from './contract.ts';

/** The key of a ledger's id among its small values. */
export const LEDGER_ID = ['ledger', 'id'] as const;

/** A random id distinguishes a ledger from every other one; a copy of it shares the id. */
export function createLedgerId(): string {
  return `ledger_${randomBytes(16).toString('hex')}`;
}

/** The id of this ledger; one of the first versions gets its id now. */
export function getLedgerId({ kv, alone }: Pick<Ledger, 'kv' | 'alone'>): string {
  const known = findLedgerId(kv);
  if (known !== null) return known;
  return alone(() => {
    const id = findLedgerId(kv) ?? createLedgerId(); // another process may have been faster
    kv.set(...LEDGER_ID, id);
    return id;
  });
}

/** Null in a ledger of the first versions that has no id yet. */
export function findLedgerId(kv: Pick<KeyValues, 'get'>): string | null {
  const found = kv.get(...LEDGER_ID);
  return typeof found === 'string' ? found : null;
}
