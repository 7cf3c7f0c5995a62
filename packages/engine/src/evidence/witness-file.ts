/**
 * The file of a witness, which gets a line for each seal of each ledger that has it as its witness: it is read in parts,
 * from the start by those who compare, from the end by those who add.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { describeDamage, parseWitnessLine, type WitnessLine } from './witness.ts';

const CHUNK_BYTES = 256 * 1024;
const LINE_END = 10;

export interface PlacedLine {
  readonly line: WitnessLine;
  /** Where in the file it begins. */
  readonly at: number;
}

/** Every line that is whole; the last one may be half written. Throws for one that cannot be read. */
export function* walkWitness(file: string): Generator<PlacedLine> {
  const fd = openSync(file, 'r');
  try {
    const chunk = Buffer.alloc(CHUNK_BYTES);
    for (let [kept, from, number] = [0, 0, 0]; ;) {
      const read = readSync(fd, chunk, kept, chunk.length - kept, from + kept);
      if (read === 0) return;
      const filled = chunk.subarray(0, kept + read);
      let begin = 0;
      for (let end = filled.indexOf(LINE_END); end !== -1; end = filled.indexOf(LINE_END, begin)) {
        number += 1;
        yield { line: parseWitnessLine(filled.toString('utf8', begin, end), number), at: from + begin };
        begin = end + 1;
      }
      if (begin === 0 && filled.length === chunk.length) throw describeDamage(number + 1);
      filled.copyWithin(0, begin);
      kept = filled.length - begin;
      from += begin;
    }
  } finally {
    closeSync(fd);
  }
}

/** The whole lines that begin at these places. */
export function readLinesAt(file: string, places: readonly number[]): WitnessLine[] {
  const fd = openSync(file, 'r');
  try {
    return places.map((at) => readLineAt(fd, at));
  } finally {
    closeSync(fd);
  }
}

function readLineAt(fd: number, at: number): WitnessLine {
  for (let bytes = 1024; ; bytes *= 4) {
    const part = Buffer.alloc(Math.min(bytes, CHUNK_BYTES));
    const read = readSync(fd, part, 0, part.length, at);
    const end = part.subarray(0, read).indexOf(LINE_END);
    if (end !== -1) return parseWitnessLine(part.toString('utf8', 0, end), null);
    if (read < part.length || bytes >= CHUNK_BYTES) throw describeDamage(null);
  }
}

/** The last bytes of the file, and whether there are others before them. */
export function readEnd(file: string, maxBytes: number): { readonly end: Buffer; readonly isWhole: boolean } {
  const fd = openSync(file, 'r');
  try {
    const { size } = fstatSync(fd);
    const end = Buffer.alloc(Math.min(size, maxBytes));
    const read = readSync(fd, end, 0, end.length, size - end.length);
    return { end: end.subarray(0, read), isWhole: end.length === size };
  } finally {
    closeSync(fd);
  }
}
