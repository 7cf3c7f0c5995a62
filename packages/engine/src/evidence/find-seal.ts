import { knownTypeOf } from '@caisson/protocol';

import type { Ledger, StoredEvent } from '../ledger/index.ts';
import type { Artefact, SealRef } from './contract.ts';
import { parseEnvelope } from './dsse.ts';
import { parseStatement } from './statement.ts';

/** What `evidence.sealed` recorded for the run; the last one counts. */
export function findSeal(events: readonly StoredEvent[]): SealRef | null {
  const event = events.findLast((found) => knownTypeOf(found) === 'evidence.sealed');
  return event?.type === 'evidence.sealed' ? event.data : null;
}

/** A run is sealed once: the ledger has no two events with one id. */
export function sealEventId(runId: string): string {
  return `evidence.sealed:${runId}`;
}

/** The same from the ledger without the run's other events, of which there may be many; they are not checked. */
export function findSealAlone(ledger: Ledger, runId: string): SealRef | null {
  const event = ledger.find(sealEventId(runId));
  return event?.runId === runId ? findSeal([event]) : null;
}

/** The outputs of a run as its envelope lists them; the signature is not checked. */
export function listSealedArtefacts(envelope: Buffer): readonly Artefact[] {
  return parseStatement(parseEnvelope(envelope).payload).artefacts;
}
