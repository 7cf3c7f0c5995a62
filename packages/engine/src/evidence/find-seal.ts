import { EvidenceSealed } from '@caisson/protocol';

import type { StoredEvent } from '../ledger/index.ts';
import type { SealRef } from './contract.ts';

/** What `evidence.sealed` recorded for the run; the last one counts. */
export function findSeal(events: readonly StoredEvent[]): SealRef | null {
  const event = events.findLast((found) => found.type === EvidenceSealed.type);
  if (event === undefined) return null;
  const parsed = EvidenceSealed.data.safeParse(event.data);
  return parsed.success ? parsed.data : null;
}
