import { knownTypeOf } from '@caisson/protocol';

import type { StoredEvent } from '../ledger/index.ts';
import type { Artefact, SealRef } from './contract.ts';
import { parseEnvelope } from './dsse.ts';
import { parseStatement } from './statement.ts';

/** What `evidence.sealed` recorded for the run; the last one counts. */
export function findSeal(events: readonly StoredEvent[]): SealRef | null {
  const event = events.findLast((found) => knownTypeOf(found) === 'evidence.sealed');
  return event?.type === 'evidence.sealed' ? event.data : null;
}

/** The outputs of a run as its envelope lists them; the signature is not checked. */
export function listSealedArtefacts(envelope: Buffer): readonly Artefact[] {
  return parseStatement(parseEnvelope(envelope).payload).artefacts;
}
