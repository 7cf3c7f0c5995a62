/** Merkle tree hash of RFC 6962, section 2.1, over the event hashes of a run. */
import { hash } from 'node:crypto';

const LEAF = Buffer.from([0]);
const NODE = Buffer.from([1]);

/** Root over leaves given as sha256 in hex; the root of no leaves is the sha256 of nothing. */
export function merkleRoot(leaves: readonly string[]): string {
  if (leaves.length === 0) return hash('sha256', '');
  let level: Buffer[] = leaves.map((leaf) =>
    hash('sha256', Buffer.concat([LEAF, Buffer.from(leaf, 'hex')]), 'buffer'),
  );
  while (level.length > 1) level = joinPairs(level);
  return (level[0] ?? Buffer.alloc(0)).toString('hex');
}

/**
 * Pairs from the left; an odd one out moves up unchanged. That is the RFC's split at the largest power of two,
 * read bottom-up.
 */
function joinPairs(level: readonly Buffer[]): Buffer[] {
  const above: Buffer[] = [];
  for (let index = 0; index < level.length; index += 2) {
    const left = level[index] as Buffer;
    const right = level[index + 1];
    above.push(right === undefined ? left : hash('sha256', Buffer.concat([NODE, left, right]), 'buffer'));
  }
  return above;
}
