import { randomBytes } from 'node:crypto';
import { refuseInvalidDigest } from './digest.ts';

const DIGEST_BYTES = 32;
const DIGESTS_IN_CHUNK = 16_384;
const MIN_SLOTS = 1024;

/**
 * A set of digests in less than 50 bytes each, in the order in which they were added. Where nobody has to name them again,
 * `DigestTags` needs a third of it.
 */
export class DigestSet implements Iterable<string> {
  /** The digests, one behind the other. */
  readonly #chunks: Buffer[] = [];
  /** The number of a digest, from 1, in the first free slot from where its hash says. */
  #slots = new Uint32Array(MIN_SLOTS);
  /** Who chooses digests does not know it, and cannot choose such as would share their slots. */
  readonly #seed = randomBytes(4).readUInt32LE();
  /** The digest that is asked for: no buffer is made for each. */
  readonly #given = Buffer.alloc(DIGEST_BYTES);
  #size = 0;

  constructor(digests: Iterable<string> = []) {
    for (const digest of digests) this.add(digest);
  }

  get size(): number {
    return this.#size;
  }

  has(digest: string): boolean {
    return this.#write(digest) && this.#slots[this.#findSlot(this.#given, 0)] !== 0;
  }

  /** False when it is there already. */
  add(digest: string): boolean {
    refuseInvalidDigest(digest);
    this.#write(digest);
    const slot = this.#findSlot(this.#given, 0);
    if (this.#slots[slot] !== 0) return false;
    if (this.#size % DIGESTS_IN_CHUNK === 0) this.#chunks.push(Buffer.alloc(DIGESTS_IN_CHUNK * DIGEST_BYTES));
    this.#size += 1;
    const { chunk, at } = this.#placeOf(this.#size);
    this.#given.copy(chunk, at);
    this.#slots[slot] = this.#size;
    if (this.#size * 4 > this.#slots.length * 3) this.#grow();
    return true;
  }

  *[Symbol.iterator](): Generator<string> {
    for (let number = 1; number <= this.#size; number += 1) {
      const { chunk, at } = this.#placeOf(number);
      yield chunk.toString('hex', at, at + DIGEST_BYTES);
    }
  }

  /** False for what is no digest. */
  #write(digest: string): boolean {
    return digest.length === 2 * DIGEST_BYTES && this.#given.write(digest, 'hex') === DIGEST_BYTES;
  }

  #grow(): void {
    this.#slots = new Uint32Array(this.#slots.length * 2);
    for (let number = 1; number <= this.#size; number += 1) {
      const { chunk, at } = this.#placeOf(number);
      this.#slots[this.#findSlot(chunk, at)] = number;
    }
  }

  /** The slot that has the digest there, or the one that it would have. */
  #findSlot(bytes: Buffer, from: number): number {
    let hash = this.#seed;
    for (let at = from; at < from + DIGEST_BYTES; at += 4) {
      hash = Math.imul(hash ^ bytes.readUInt32LE(at), 0x9e3779b1);
      hash ^= hash >>> 15;
    }
    const mask = this.#slots.length - 1;
    let slot = (hash >>> 0) & mask;
    for (; ; slot = (slot + 1) & mask) {
      const number = this.#slots[slot] ?? 0;
      if (number === 0) return slot;
      const { chunk, at } = this.#placeOf(number);
      if (chunk.compare(bytes, from, from + DIGEST_BYTES, at, at + DIGEST_BYTES) === 0) return slot;
    }
  }

  #placeOf(number: number): { readonly chunk: Buffer; readonly at: number } {
    const chunk = this.#chunks[Math.floor((number - 1) / DIGESTS_IN_CHUNK)] ?? this.#given;
    return { chunk, at: ((number - 1) % DIGESTS_IN_CHUNK) * DIGEST_BYTES };
  }
}
