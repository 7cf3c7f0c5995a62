/** What may still be needed of what a store holds. */
import { shareTurn } from '@caisson/ground';
import type { Roots, Store } from './contract.ts';
import { isDigest } from './digest.ts';
import { DigestSet } from './digest-set.ts';
import { DigestTags } from './digest-tags.ts';

const HELD = 1;
const ROOT = 2;
const NEEDED = 4;

/** So many are less than a millisecond. */
const LISTED_IN_TURN = 256;

/**
 * Roots of a collection, marked in a list of what the store held before anyone looked for them: most that an old ledger
 * names is no blob, and takes no memory here. What is not in the list is taken for a root. So nothing is lost that another
 * process puts meanwhile, or moves between folders while the list is made; if it is garbage, a later collection sees it.
 */
export class HeldRoots implements Roots {
  readonly #tags = new DigestTags();
  /** What is needed and was not listed; hardly anything, unless the store is damaged. */
  readonly #unlisted = new DigestSet();

  static async list(store: Pick<Store, 'listBlobs'>): Promise<HeldRoots> {
    const roots = new HeldRoots();
    let count = 0;
    for await (const digest of store.listBlobs({ isTolerant: true })) {
      if (isDigest(digest)) roots.#tags.add(digest, HELD); // a killed collection may leave a whole pack in the trash
      count += 1;
      if (count % LISTED_IN_TURN === 0) await shareTurn();
    }
    return roots;
  }

  add(digest: string): void {
    if (this.#tags.of(digest) !== 0) this.#tags.add(digest, ROOT);
  }

  /** A root whose absence is reported. False when it is known as one already. */
  need(digest: string): boolean {
    const before = this.#tags.of(digest);
    if (before === 0) return this.#unlisted.add(digest);
    return (this.#tags.add(digest, ROOT | NEEDED) & NEEDED) === 0;
  }

  has(digest: string): boolean {
    const tag = this.#tags.of(digest);
    return tag === 0 || (tag & ROOT) !== 0;
  }

  isNeeded(digest: string): boolean {
    return (this.#tags.of(digest) & NEEDED) !== 0 || this.#unlisted.has(digest);
  }

  [Symbol.iterator](): Iterator<string> {
    return this.#unlisted[Symbol.iterator]();
  }
}
