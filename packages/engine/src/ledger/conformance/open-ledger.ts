import type { Ledger } from '../contract.ts';

/** Opens a new, empty ledger of the implementation under test. */
export type OpenLedger = () => Ledger | Promise<Ledger>;
