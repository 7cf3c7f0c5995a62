import { MAX_HISTORY_BYTES, type RecordedStep, type ThreadRow } from '@caisson/protocol';
import type { Ledger } from '../ledger/index.ts';
import { sizeOf } from './plan-step.ts';
import { readHistory, readMessages } from './thread-history.ts';

/** What a turn begins with; in words, why there can be none: all of it must fit into one line to the worker. */
export function composeTurn(
  ledger: Ledger,
  row: ThreadRow,
  { steps, graceMs }: { readonly steps: RecordedStep[]; readonly graceMs: number },
) {
  const { threadId, trigger } = row;
  const { payload } = readHistory(ledger, row);
  const messages = readMessages(ledger, row);
  if (sizeOf({ payload, messages, steps }) > MAX_HISTORY_BYTES)
    return `its payload, its messages and the steps of this round have together more than ${MAX_HISTORY_BYTES} bytes: return and remember less`;
  return { threadId, round: messages.length, trigger, payload, messages, steps, graceMs };
}

/** Why it may have no further message, or null. */
export function findBeyond({ rounds, maxRounds }: ThreadRow): string | null {
  return rounds < maxRounds ? null : `after its ${maxRounds} rounds the router names another role`;
}
