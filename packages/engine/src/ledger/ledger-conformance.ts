// The duties of every ledger. An implementation runs it in one line; see memory-ledger.test.ts and sqlite/.

import { describe } from 'vitest';
import { describeAppending } from './conformance/appending.ts';
import { describeEpochs } from './conformance/epochs.ts';
import { describeInterleavings } from './conformance/interleavings.ts';
import { describeLeases } from './conformance/leases.ts';
import { describeLives } from './conformance/lives.ts';
import type { OpenLedger } from './conformance/open-ledger.ts';
import { describePages } from './conformance/pages.ts';
import { describeReading } from './conformance/reading.ts';
import { describeThreads } from './conformance/threads.ts';
import { describeWatching } from './conformance/watching.ts';

/** Proves the promises L1 to L7 of `contract.ts` for the ledgers that `open` gives. */
export function describeLedger(name: string, open: OpenLedger): void {
  describe(`${name} keeps the ledger's promises`, () => {
    describeAppending(open);
    describeReading(open);
    describeLives(open);
    describeThreads(open);
    describePages(open);
    describeLeases(open);
    describeEpochs(open);
    describeWatching(open);
    describeInterleavings(open);
  });
}
