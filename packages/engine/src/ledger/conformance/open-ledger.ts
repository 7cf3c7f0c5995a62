import { afterEach, beforeEach } from 'vitest';
import type { Ledger } from '../contract.ts';

/** Opens a new, empty ledger of the implementation under test. */
export type OpenLedger = () => Ledger | Promise<Ledger>;

/** What one test works with: a ledger of its own, opened before it and closed after it. */
export interface LedgerAtHand {
  ledger: Ledger;
}

export function useLedger(open: OpenLedger): LedgerAtHand {
  const at = {} as LedgerAtHand;
  beforeEach(async () => {
    at.ledger = await open();
  });
  afterEach(() => at.ledger.close());
  return at;
}
