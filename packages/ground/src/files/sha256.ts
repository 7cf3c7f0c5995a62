/**
 * SHA-256 of short texts, in JavaScript: a short process that needs one digest does not load `node:crypto` for it, which
 * takes 4 ms. Everything else uses that module.
 */

export const BLOCK_BYTES = 64;
const WORDS = 64;
/** Computed when first needed: most processes never need them. */
let constants: ReturnType<typeof createConstants> | null = null;

export function sha256(bytes: Uint8Array): Uint8Array {
  const { initial, round } = (constants ??= createConstants());
  const view = pad(bytes);
  const state = Uint32Array.from(initial);
  for (let at = 0; at < view.byteLength; at += BLOCK_BYTES) compress(state, schedule(view, at), round);
  const digest = new DataView(new ArrayBuffer(32));
  for (const [index, word] of state.entries()) digest.setUint32(index * 4, word);
  return new Uint8Array(digest.buffer);
}

/** A bit, zeros, and the length in bits at the end of a block. */
function pad(bytes: Uint8Array): DataView {
  const blocks = Math.ceil((bytes.length + 9) / BLOCK_BYTES);
  const padded = new Uint8Array(blocks * BLOCK_BYTES);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 4, bytes.length * 8);
  return view;
}

function schedule(view: DataView, at: number): Uint32Array {
  const words = new Uint32Array(WORDS);
  const word = (index: number): number => words[index] ?? 0;
  for (let index = 0; index < 16; index += 1) words[index] = view.getUint32(at + index * 4);
  for (let index = 16; index < WORDS; index += 1) {
    const [near, far] = [word(index - 15), word(index - 2)];
    const first = turn(near, 7) ^ turn(near, 18) ^ (near >>> 3);
    const second = turn(far, 17) ^ turn(far, 19) ^ (far >>> 10);
    words[index] = word(index - 16) + first + word(index - 7) + second;
  }
  return words;
}

function compress(state: Uint32Array, words: Uint32Array, round: readonly number[]): void {
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
  for (let index = 0; index < WORDS; index += 1) {
    const choice = (e & f) ^ (~e & g);
    const majority = (a & b) ^ (a & c) ^ (b & c);
    const given = (round[index] ?? 0) + (words[index] ?? 0);
    const first = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + choice + given) | 0;
    const second = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + majority) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
  }
  for (const [index, word] of [a, b, c, d, e, f, g, h].entries()) state[index] = (state[index] ?? 0) + word;
}

function turn(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits));
}

/** The first 32 bits of the fractions of the square and cube roots of the first primes. */
function createConstants(): { readonly initial: readonly number[]; readonly round: readonly number[] } {
  const primes: number[] = [];
  for (let next = 2; primes.length < WORDS; next += 1)
    if (primes.every((prime) => next % prime !== 0)) primes.push(next);
  const fraction = (root: number): number => Math.floor((root % 1) * 2 ** 32);
  return {
    initial: primes.slice(0, 8).map((prime) => fraction(Math.sqrt(prime))),
    round: primes.map((prime) => fraction(Math.cbrt(prime))),
  };
}
