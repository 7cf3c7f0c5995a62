import { createHash, randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { sha256 } from './sha256.ts';

it('is that of node:crypto for texts of every length around a block, and for longer ones', () => {
  for (const length of [...Array(200).keys(), 511, 512, 513, 5000]) {
    const text = randomBytes(length);
    expect(Buffer.from(sha256(text))).toEqual(createHash('sha256').update(text).digest());
  }
});
