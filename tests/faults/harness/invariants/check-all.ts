/** Every invariant in order. The ones that look come first; the ones that change the project come last. */
import type { Aftermath, Invariant } from './contract.ts';
import {
  noFolderLeft,
  noGroupLeft,
  noLeaseLeft,
  noLockLeft,
  noMountLeft,
  noProcessLeft,
  noTemporaryLeft,
} from './left.ts';
import { noEventLost, nothingTakenBack, nothingTwice, oneEnding, wholeChain } from './ledger.ts';
import { isSealed, verifies } from './proof.ts';
import { gitWorks, goesOn } from './user.ts';
import { applyIsTrue, diffIsTrue, showIsTrue, workIsKept } from './work.ts';

/** Those that look at the project as a whole. */
const OF_PROJECT: readonly Invariant[] = [
  ...[oneEnding, wholeChain, nothingTakenBack, nothingTwice, noEventLost, isSealed],
  ...[noProcessLeft, noMountLeft, noLeaseLeft, noTemporaryLeft, noLockLeft],
];
/** What a clean-up that failed left is taken by the next host: it is gone after the next run (decision 0023). */
const AFTER_NEXT_RUN: readonly Invariant[] = [noGroupLeft, noFolderLeft];
/** Those that start a command for every run, and those that change the project. */
const OF_RUNS: readonly Invariant[] = [
  ...[verifies, workIsKept, showIsTrue, diffIsTrue],
  ...[gitWorks, applyIsTrue, goesOn],
];

/** An invariant that cannot even be looked at is broken, too. */
export async function checkAll(aftermath: Aftermath, { isBrief = false } = {}): Promise<string[]> {
  const found: string[] = [];
  for (const { name, check } of [...OF_PROJECT, ...(isBrief ? [] : OF_RUNS), ...AFTER_NEXT_RUN]) {
    try {
      for (const problem of await check(aftermath)) found.push(`${name}: ${problem}`);
    } catch (error) {
      found.push(`${name}: ${(error as Error).message}`);
    }
  }
  return found;
}
