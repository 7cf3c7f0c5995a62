/**
 * Removes secret values from text and byte streams, whatever the chunking.
 *
 * An automaton over the first bytes ("stem") of every form finds candidates in one pass; a candidate is then compared
 * in full. Its size depends on the number of forms, not on their length, so a 4 KiB key costs no more than a token. The
 * text is searched as it is and, if it has escapes, once more decoded.
 *
 * R1  Overlapping hits become one mark: the union is removed, so no rest of the second secret remains.
 * R2  A stream holds back only what may still become a hit: less than the longest form with its line breaks and
 *     escapes.
 * R3  Bytes without a hit pass unchanged, also when they are not UTF-8.
 *
 * Redact before cutting text to a length: half a secret cannot be recognised.
 */
import { CaissonError } from '@caisson/protocol';

import { scanForms } from './scan-forms.ts';
import { listSecretForms } from './secret-forms.ts';
import { createStemAutomaton, type StemAutomaton } from './stem-automaton.ts';

export interface NamedSecret {
  readonly name: string;
  readonly value: string;
}

/** One ordered byte stream, e.g. one child's stdout. */
export interface RedactorStream {
  /** Returns what is certain so far; it may be empty, and it may share memory with the chunk. */
  push(chunk: Uint8Array): Buffer;
  /** Returns the rest. The stream may be used again afterwards, as a new one. */
  flush(): Buffer;
}

export interface Redactor {
  redact(text: string): string;
  redactBytes(bytes: Uint8Array): Buffer;
  createStream(): RedactorStream;
  /** Secrets that are not searched for, each with its reason. Callers decide whether to refuse them. */
  readonly tooShort: readonly SecretTooShortError[];
}

/** The value is so short that searching for it would damage ordinary text. */
export class SecretTooShortError extends CaissonError {
  readonly code = 'SECRET_TOO_SHORT';
  readonly secretName: string;

  constructor(secretName: string) {
    super(
      `Secret ${secretName} has fewer than ${MIN_SECRET_CHARS} characters and cannot be redacted; use a longer value.`,
    );
    this.secretName = secretName;
  }
}

export const MIN_SECRET_CHARS = 6;
const PIECE_BYTES = 256 * 1024;

/** Builds a redactor for these secrets. Values that are too short are listed in `tooShort` and not searched for. */
export function createRedactor(secrets: readonly NamedSecret[]): Redactor {
  const usable = secrets.filter((secret) => !isTooShort(secret));
  const tooShort = secrets.filter(isTooShort).map((secret) => new SecretTooShortError(secret.name));
  const forms = usable.flatMap((secret) => {
    const mark = Buffer.from(`[redacted:${secret.name}]`);
    return listSecretForms(secret.value.trim()).map((form) => ({ ...form, mark }));
  });
  const automaton = createStemAutomaton(forms);

  return {
    tooShort,
    redact(text) {
      const bytes = Buffer.from(text, 'utf8');
      const { output, hits } = redactWhole(automaton, bytes);
      return hits === 0 ? text : output.toString('utf8');
    },
    redactBytes: (bytes) => redactWhole(automaton, asBuffer(bytes)).output,
    createStream: () => createStream(automaton),
  };
}

/** White space around a value, such as the last LF of a file, is often missing in the text. */
function isTooShort(secret: NamedSecret): boolean {
  return [...secret.value.trim()].length < MIN_SECRET_CHARS;
}

function createStream(automaton: StemAutomaton): RedactorStream {
  let tail: Buffer = Buffer.alloc(0);
  /** How many first bytes of `tail` belong to a hit whose mark is already written. */
  let covered = 0;
  return {
    push(chunk) {
      const bytes = tail.length === 0 ? asBuffer(chunk) : Buffer.concat([tail, chunk]);
      const cut = cutAndMark(automaton, bytes, covered, false);
      tail = Buffer.from(bytes.subarray(cut.heldFrom)); // a copy: the caller may reuse its chunk
      covered = cut.covered;
      return cut.output;
    },
    flush() {
      const { output } = cutAndMark(automaton, tail, covered, true);
      tail = Buffer.alloc(0);
      covered = 0;
      return output;
    },
  };
}

/** In pieces if it is long, so that the search needs limited space beside the text itself. */
function redactWhole(automaton: StemAutomaton, bytes: Buffer): Pick<Cut, 'output' | 'hits'> {
  if (bytes.length <= PIECE_BYTES) return cutAndMark(automaton, bytes, 0, true);
  const parts: Buffer[] = [];
  let hits = 0;
  let [from, covered] = [0, 0];
  for (let to = PIECE_BYTES; from < bytes.length; to += PIECE_BYTES) {
    const cut = cutAndMark(automaton, bytes.subarray(from, to), covered, to >= bytes.length);
    parts.push(cut.output);
    hits += cut.hits;
    from += cut.heldFrom;
    covered = cut.covered;
  }
  return { output: hits === 0 ? bytes : Buffer.concat(parts), hits };
}

interface Cut {
  output: Buffer;
  hits: number;
  heldFrom: number;
  covered: number;
}

/** Replaces every hit that starts before the held-back rest. `covered` first bytes are dropped without a mark. */
function cutAndMark(automaton: StemAutomaton, bytes: Buffer, covered: number, isLast: boolean): Cut {
  const scan = scanForms(automaton, bytes, isLast);
  const heldFrom = isLast ? bytes.length : scan.undecidedFrom;
  if (scan.hits.length === 0 && covered === 0) {
    return { output: bytes.subarray(0, heldFrom), hits: 0, heldFrom, covered: 0 };
  }
  const parts: Buffer[] = [];
  let removedUntil = covered;
  for (const hit of scan.hits) {
    if (hit.start >= heldFrom) break; // found again from the tail, once its surroundings are decided
    const isOverlap = hit.start < removedUntil; // R1
    if (!isOverlap) parts.push(bytes.subarray(removedUntil, hit.start), hit.mark);
    removedUntil = Math.max(removedUntil, hit.end);
  }
  if (removedUntil < heldFrom) parts.push(bytes.subarray(removedUntil, heldFrom));
  return {
    output: Buffer.concat(parts),
    hits: scan.hits.length,
    heldFrom,
    covered: Math.max(0, removedUntil - heldFrom),
  };
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
