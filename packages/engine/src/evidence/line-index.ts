import { randomInt } from 'node:crypto';

const MIN_SLOTS = 1024;
const MAX_UINT32 = 2 ** 32;

/**
 * The places of many lines by what they name, in less than 50 bytes each. Two names may share a number: who asks reads the
 * lines, and leaves out those of another name.
 */
export class LineIndex {
  /** The number of a name, and the place of its line counted from 1; 0 is a free slot. */
  #numbers = new Uint32Array(MIN_SLOTS);
  #places = new Float64Array(MIN_SLOTS);
  #size = 0;
  /** Who chooses names does not know it. */
  readonly #seed = randomInt(MAX_UINT32);

  add(name: string, place: number): void {
    if ((this.#size + 1) * 4 > this.#places.length * 3) this.#grow();
    this.#put(this.#numberOf(name), place + 1);
    this.#size += 1;
  }

  /** Places where a line of that name may be. */
  find(name: string): number[] {
    const number = this.#numberOf(name);
    const found: number[] = [];
    const mask = this.#places.length - 1;
    for (let slot = number & mask; this.#places[slot] !== 0; slot = (slot + 1) & mask)
      if (this.#numbers[slot] === number) found.push((this.#places[slot] ?? 0) - 1);
    return found;
  }

  #put(number: number, place: number): void {
    const mask = this.#places.length - 1;
    let slot = number & mask;
    while (this.#places[slot] !== 0) slot = (slot + 1) & mask;
    this.#numbers[slot] = number;
    this.#places[slot] = place;
  }

  #grow(): void {
    const [numbers, places] = [this.#numbers, this.#places];
    this.#numbers = new Uint32Array(places.length * 2);
    this.#places = new Float64Array(places.length * 2);
    for (const [slot, place] of places.entries()) if (place !== 0) this.#put(numbers[slot] ?? 0, place);
  }

  #numberOf(name: string): number {
    let number = this.#seed;
    for (let at = 0; at < name.length; at += 1) {
      number = Math.imul(number ^ name.charCodeAt(at), 0x9e3779b1);
      number ^= number >>> 15;
    }
    return number >>> 0;
  }
}
