import { describeLedger } from './ledger-conformance.ts';
import { createMemoryLedger } from './index.ts';

describeLedger('the in-memory ledger', () => createMemoryLedger());
