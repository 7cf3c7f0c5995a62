import { randomBytes } from 'node:crypto';
import { refuseInvalidDigest } from './digest.ts';

const DIGEST_LENGTH = 64;
const SHARDS = 64;
const MIN_SLOTS = 16;
const GROWTH = 1.5;
const MOST_FULL = 0.75;

/**
 * Some bits for each of millions of digests, in 12 to 18 bytes each. Only the first 64 bits of a digest are kept, so two
 * digests may be taken for one: with n of them by a chance of n / 2^64 for each look-up, 2 in 10^13 for three million. In a
 * collection that keeps one blob too many; in a doctor's walk one missing blob is not named. Nothing that proves a content
 * may rest on it.
 */
export class DigestTags {
  /** Each grows by itself, so that only a small part of all exists twice at a time. */
  readonly #shards: readonly Shard[];
  readonly #first: Shard;
  /** Who chooses digests does not know it, and cannot choose such as would share their slots. */
  readonly #seed = randomBytes(4).readUInt32LE();
  #size = 0;

  constructor() {
    const seedOf = (): number => randomBytes(4).readUInt32LE();
    this.#first = new Shard(seedOf());
    this.#shards = [this.#first, ...Array.from({ length: SHARDS - 1 }, () => new Shard(seedOf()))];
  }

  get size(): number {
    return this.#size;
  }

  /** 0 for a digest that has none. */
  of(digest: string): number {
    if (digest.length !== DIGEST_LENGTH) return 0;
    const [high, low] = halvesOf(digest);
    return this.#shardOf(high, low).get(high, low);
  }

  /** Adds bits of 1 to 255; returns those that it had before. */
  add(digest: string, bits: number): number {
    refuseInvalidDigest(digest);
    const [high, low] = halvesOf(digest);
    const before = this.#shardOf(high, low).add(high, low, bits);
    if (before === 0) this.#size += 1;
    return before;
  }

  #shardOf(high: number, low: number): Shard {
    return this.#shards[mix(this.#seed, high, low) % SHARDS] ?? this.#first;
  }
}

/** Open addressing: a digest is in the first slot from where its hash says, and before the next free one. */
class Shard {
  readonly #seed: number;
  /** Two for each slot. */
  #halves = new Uint32Array(2 * MIN_SLOTS);
  /** 0 in a free slot. */
  #bits = new Uint8Array(MIN_SLOTS);
  #size = 0;

  constructor(seed: number) {
    this.#seed = seed;
  }

  get(high: number, low: number): number {
    return this.#bits[this.#find(high, low)] ?? 0;
  }

  add(high: number, low: number, bits: number): number {
    let slot = this.#find(high, low);
    const before = this.#bits[slot] ?? 0;
    if (before === 0) {
      this.#size += 1;
      if (this.#size > this.#bits.length * MOST_FULL) {
        this.#grow();
        slot = this.#find(high, low);
      }
    }
    this.#put(slot, high, low, before | bits);
    return before;
  }

  #put(slot: number, high: number, low: number, bits: number): void {
    this.#halves[2 * slot] = high;
    this.#halves[2 * slot + 1] = low;
    this.#bits[slot] = bits;
  }

  #grow(): void {
    const [halves, bits] = [this.#halves, this.#bits];
    this.#halves = new Uint32Array(2 * Math.ceil(bits.length * GROWTH));
    this.#bits = new Uint8Array(this.#halves.length / 2);
    for (const [slot, given] of bits.entries()) {
      const [high, low] = [halves[2 * slot] ?? 0, halves[2 * slot + 1] ?? 0];
      if (given !== 0) this.#put(this.#find(high, low), high, low, given);
    }
  }

  #find(high: number, low: number): number {
    const slots = this.#bits.length;
    let slot = Math.floor((mix(this.#seed, high, low) / 2 ** 32) * slots);
    while (this.#bits[slot] !== 0 && (this.#halves[2 * slot] !== high || this.#halves[2 * slot + 1] !== low))
      slot = slot + 1 === slots ? 0 : slot + 1;
    return slot;
  }
}

function halvesOf(digest: string): readonly [number, number] {
  return [Number.parseInt(digest.slice(0, 8), 16), Number.parseInt(digest.slice(8, 16), 16)];
}

/** A number of 32 bits that is spread evenly whatever is given. */
function mix(seed: number, high: number, low: number): number {
  let hash = Math.imul(seed ^ high, 0x9e3779b1);
  hash = Math.imul(hash ^ (hash >>> 15) ^ low, 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13) ^ seed, 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
