/**
 * The seals of one ledger as a chain: each names the one before it, and the name is signed. A seal that is removed from
 * the middle leaves one that follows nothing; the head (`ledger-head.ts`) notices one that is removed from the end.
 */
import { shareTurn } from '@caisson/ground';
import { knownTypeOf } from '@caisson/protocol';

import { getLedgerId, type Ledger, type StoredEvent } from '../ledger/index.ts';
import type { RecordedLink, SealLink, SealRef } from './contract.ts';
import { EvidenceMalformedError, TamperedError } from './errors.ts';
import { findSeal } from './find-seal.ts';

/** A seal where it is recorded. */
export interface RecordedSeal {
  readonly runId: string;
  readonly at: string;
  readonly seal: SealRef;
}

/** The place of the next seal. Only the holder of the ledger's seal lock may use it. */
export function nextLink(ledger: Ledger): RecordedLink {
  const id = getLedgerId(ledger);
  const newest = readSeal(ledger.findLast('evidence.sealed'));
  return {
    ledger: id,
    number: (newest?.seal.chain?.number ?? 0) + 1,
    previous: newest?.seal.envelopeRef ?? null,
    previousRun: newest?.runId ?? null,
  };
}

/** Every seal of the ledger in the order in which they were recorded, read as they are asked for. */
export function* walkSeals(ledger: Ledger): Generator<RecordedSeal> {
  for (const event of ledger.walk({ types: ['evidence.sealed'] })) {
    const seal = readSeal(event);
    if (seal !== null) yield seal;
  }
}

/**
 * The seals from the newest (or `from`) back along the chain to the first that `isKnown`, which is left out; oldest
 * first. Older ones are not read.
 */
export function listNewestSeals(
  ledger: Ledger,
  from: RecordedSeal | null,
  isKnown: (recorded: RecordedSeal) => boolean,
): RecordedSeal[] {
  const found: RecordedSeal[] = [];
  for (const recorded of walkBack(ledger, from)) {
    if (isKnown(recorded)) break;
    found.push(recorded);
  }
  return found.reverse();
}

/** The seals from the newest (or `from`) back along the chain, each read as it is asked for: there may be many. */
export function* walkBack(ledger: Ledger, from: RecordedSeal | null = null): Generator<RecordedSeal> {
  let current = from ?? readSeal(ledger.findLast('evidence.sealed'));
  while (current?.seal.chain !== undefined) {
    yield current;
    const { previousRun } = current.seal.chain;
    const [before] =
      previousRun === null ? [] : ledger.read({ runId: previousRun, types: ['evidence.sealed'] });
    current = readSeal(before ?? null);
  }
}

/**
 * A seal that names an earlier seal of this run, although the ledger has none of the run any more; null when there is
 * none. Searches back along the chain to the time of the run's acceptance.
 */
export function findLostSeal(ledger: Ledger, runId: string): RecordedSeal | null {
  const acceptedAt = ledger.run(runId)?.acceptedAt ?? '';
  let lost: RecordedSeal | null = null;
  for (const recorded of walkBack(ledger)) {
    if (recorded.at < acceptedAt) break;
    if (recorded.seal.chain?.previousRun === runId) lost = recorded;
  }
  return lost;
}

/** Throws for a run that had a seal and has no readable one: it must not be sealed again. */
export function refuseLostSeal(ledger: Ledger, runId: string, events: readonly StoredEvent[]): void {
  const isUnreadable = events.some((event) => knownTypeOf(event) === 'evidence.sealed');
  const lost = isUnreadable ? null : findLostSeal(ledger, runId);
  if (!isUnreadable && lost === null) return;
  throw new TamperedError(
    lost === null
      ? `${ledger.file} has no valid record of the seal of ${runId}`
      : `${runId} had a seal, as the seal of ${lost.runId} says, and ${ledger.file} has lost it`,
    { remedy: 'Restore the ledger from a backup.' },
  );
}

/** The first break of the chain, in words; null when every seal follows the one before it. */
export function findChainBreak(seals: Iterable<RecordedSeal>): string | null {
  const findBreak = createChainCheck();
  for (const current of seals) {
    const broken = findBreak(current);
    if (broken !== null) return broken;
  }
  return null;
}

/** The same for the seals of a ledger, in turns of the event loop: there may be many. */
export async function findChainBreakIn(ledger: Ledger): Promise<string | null> {
  const findBreak = createChainCheck();
  for (const current of walkSeals(ledger)) {
    await shareTurn();
    const broken = findBreak(current);
    if (broken !== null) return broken;
  }
  return null;
}

/** Given one seal after the other, says what is wrong with the place of each. */
function createChainCheck(): (current: RecordedSeal) => string | null {
  let before: RecordedSeal | undefined;
  return (current) => {
    const last = before?.seal;
    before = current;
    const link = current.seal.chain;
    const at = `the seal of ${current.runId}`;
    if (link === undefined) return last?.chain === undefined ? null : `${at} has no place in the chain`;
    if (link.previous !== (last?.envelopeRef ?? null))
      return `${at} (number ${link.number}) follows a seal that is not in this ledger: a run was removed`;
    if (link.number !== (last?.chain?.number ?? 0) + 1)
      return `${at} is number ${link.number}, and ${(last?.chain?.number ?? 0) + 1} was its turn`;
    if (last?.chain !== undefined && last.chain.ledger !== link.ledger)
      return `${at} was made in another ledger`;
    return null;
  };
}

/** Throws when the signed place is not the recorded one, or the seal before it is not in the ledger. */
export function checkLink(
  ledger: Ledger,
  signed: SealLink | null,
  recorded: RecordedLink | undefined,
): string | null {
  if (signed === null && recorded === undefined) return null; // sealed by one of the first versions
  const isSame =
    signed?.ledger === recorded?.ledger &&
    signed?.number === recorded?.number &&
    signed?.previous === recorded?.previous;
  if (signed === null || recorded === undefined || !isSame)
    throw new EvidenceMalformedError('its recorded place among the seals is not the one that was signed');
  if (signed.previous === null) return `seal ${signed.number} of ${signed.ledger}, the first one`;
  const before =
    recorded.previousRun === null ? null : findSeal(ledger.read({ runId: recorded.previousRun }));
  if (before?.envelopeRef !== signed.previous)
    throw new EvidenceMalformedError(
      `the seal before it (${signed.previous}) is not in this ledger: a run was removed`,
    );
  return `seal ${signed.number} of ${signed.ledger}, after that of ${recorded.previousRun}`;
}

function readSeal(event: StoredEvent | null): RecordedSeal | null {
  const seal = event === null ? null : findSeal([event]);
  return event === null || seal === null ? null : { runId: event.runId ?? '', at: event.at, seal };
}
