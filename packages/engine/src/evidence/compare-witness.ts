/**
 * All lines of a witness against all seals of a ledger. Both are in the order in which the seals were made, so they are
 * read side by side; only what is out of order is looked up. A line that the ledger contradicts is an alarm.
 */
import { shareTurn } from '@caisson/ground';
import { findLedgerId, type Ledger } from '../ledger/index.ts';
import { findSeal } from './find-seal.ts';
import { walkSeals, type RecordedSeal } from './seal-chain.ts';
import type { SealRef } from './contract.ts';
import { walkWitness, type PlacedLine } from './witness-file.ts';
import type { WitnessLine } from './witness.ts';

export interface WitnessComparison {
  /** The first line that the ledger contradicts, in words; null when there is none. */
  readonly problem: string | null;
  /** Seals of the ledger that have a place in its chain, and how many of them the witness has. */
  readonly seals: number;
  readonly seen: number;
}

/** `onLine` gets every line, also those of other ledgers. Ends at the first contradiction only when nobody listens. */
export async function compareWitness(
  file: string,
  ledger: Ledger,
  onLine?: (placed: PlacedLine) => void,
): Promise<WitnessComparison> {
  const beside = new SealsBeside(ledger);
  const isOurs = createOwnership(ledger);
  let problem: string | null = null;
  for (const placed of walkWitness(file)) {
    await shareTurn();
    onLine?.(placed);
    if (problem === null && isOurs(placed.line)) problem = beside.contradict(placed.line);
    if (problem !== null && onLine === undefined) break;
  }
  return { problem, seen: beside.seen, seals: beside.countAll() };
}

/** Several ledgers may have one witness; a copy continues the chain of the ledger that it was copied from. */
function createOwnership(ledger: Ledger): (line: WitnessLine) => boolean {
  const own = findLedgerId(ledger.kv);
  let others: Set<string> | null = null;
  return ({ ledger: id }) => {
    if (id === own) return true;
    others ??= new Set(walkSeals(ledger).map(({ seal }) => seal.chain?.ledger ?? ''));
    return others.has(id);
  };
}

/** The seals of a ledger, as far as the lines of the witness have got. */
class SealsBeside {
  readonly #ledger: Ledger;
  readonly #walk: Iterator<RecordedSeal>;
  readonly #seen = new Set<number>();
  #current: RecordedSeal | undefined;
  #count = 0;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
    this.#walk = walkSeals(ledger);
    this.#next();
  }

  get seen(): number {
    return this.#seen.size;
  }

  /** What is wrong with a line, in words. */
  contradict(line: WitnessLine): string | null {
    while (numberOf(this.#current?.seal) < line.number) this.#next();
    if (this.#has(line)) {
      this.#seen.add(line.number);
      return null;
    }
    const { number, runId, at, seal } = line;
    return walkSeals(this.#ledger).some((each) => each.seal.chain?.number === number)
      ? `the witness saw another seal ${number} (${seal} of ${runId}) than this ledger has: history was rewritten`
      : `the witness saw seal ${number} of ${runId} at ${at}, and this ledger has none: a run was removed`;
  }

  countAll(): number {
    while (this.#current !== undefined) this.#next();
    return this.#count;
  }

  /** The run is asked itself where the order differs, and for a seal that is newer than the walk. */
  #has(line: WitnessLine): boolean {
    return (
      isSame(this.#current?.seal, line) ||
      isSame(findSeal(this.#ledger.read({ runId: line.runId, types: ['evidence.sealed'] })), line)
    );
  }

  #next(): void {
    const next = this.#walk.next();
    this.#current = next.done === true ? undefined : next.value;
    if (this.#current?.seal.chain !== undefined) this.#count += 1;
  }
}

/** Behind the last one there is none to wait for. One of the first versions has no number. */
function numberOf(seal: SealRef | undefined): number {
  return seal === undefined ? Infinity : (seal.chain?.number ?? 0);
}

function isSame(seal: SealRef | null | undefined, line: WitnessLine): boolean {
  return seal?.chain?.number === line.number && seal.envelopeRef === line.seal;
}
