/** Where forms of secrets are in a text: as it is, and decoded. */
import { decodeEscapes, type DecodedText } from './decode-escapes.ts';
import type { FormHit, StemAutomaton } from './stem-automaton.ts';

export interface FormScan {
  /** In order of their start. */
  readonly hits: readonly FormHit[];
  /** From here on, more bytes could still complete a form. */
  readonly undecidedFrom: number;
}

/** `isLast`: nothing follows these bytes. */
export function scanForms(automaton: StemAutomaton, bytes: Buffer, isLast: boolean): FormScan {
  if (automaton.isEmpty) return { hits: [], undecidedFrom: bytes.length };
  const plain = automaton.scan(bytes);
  const decoded = decodeEscapes(bytes);
  if (decoded === null) return plain;
  const read = scanDecoded(automaton, decoded, isLast, bytes.length);
  const hits = [...plain.hits, ...read.hits].sort((a, b) => a.start - b.start);
  const undecidedFrom = Math.min(plain.undecidedFrom, read.undecidedFrom);
  return { hits, undecidedFrom: beforeEscape(decoded, undecidedFrom) };
}

function scanDecoded(
  automaton: StemAutomaton,
  { bytes, starts, ends, pendingFrom }: DecodedText,
  isLast: boolean,
  length: number,
): FormScan {
  // An open escape has another meaning when it is complete.
  const settled = isLast ? bytes : bytes.subarray(0, pendingFrom);
  const { hits, undecidedFrom } = automaton.scan(settled);
  return {
    hits: hits.map(({ start, end, mark }) => ({
      start: starts[start] as number,
      end: ends[end - 1] as number,
      mark,
    })),
    undecidedFrom: undecidedFrom < bytes.length ? (starts[undecidedFrom] as number) : length,
  };
}

/** The next search must not begin inside an escape: it would read the rest wrongly. */
function beforeEscape({ starts, ends }: DecodedText, at: number): number {
  let [low, high] = [0, starts.length - 1];
  while (low <= high) {
    const middle = (low + high) >> 1;
    if ((ends[middle] as number) <= at) low = middle + 1;
    else if ((starts[middle] as number) >= at) high = middle - 1;
    else return starts[middle] as number;
  }
  return at;
}
