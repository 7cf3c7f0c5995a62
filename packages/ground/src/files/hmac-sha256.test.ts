import { createHmac, randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { hmacSha256 } from './hmac-sha256.ts';

const reference = (secret: Buffer, text: Buffer): string =>
  createHmac('sha256', secret).update(text).digest('hex');
const ours = (secret: Buffer, text: Buffer): string => Buffer.from(hmacSha256(secret, text)).toString('hex');

describe('an HMAC in JavaScript', () => {
  it('is that of node:crypto for texts of every length around a block', () => {
    const secret = randomBytes(32);
    for (let length = 0; length <= 200; length += 1) {
      const text = randomBytes(length);
      expect(ours(secret, text)).toBe(reference(secret, text));
    }
  });

  it.each([0, 1, 63, 64, 65, 200])('is that of node:crypto for a secret of %i bytes', (length) => {
    for (let round = 0; round < 50; round += 1) {
      const [secret, text] = [randomBytes(length), randomBytes(round)];
      expect(ours(secret, text)).toBe(reference(secret, text));
    }
  });

  it('is the one of RFC 4231', () => {
    expect(ours(Buffer.from('Jefe'), Buffer.from('what do ya want for nothing?'))).toBe(
      '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
    );
  });
});
