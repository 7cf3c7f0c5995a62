/**
 * HMAC-SHA256 of a few short texts, in JavaScript. A command that asks a daemon checks one signature, and loading
 * `node:crypto` for it took 5 ms of the command's 20; everything else uses that module.
 */
import { BLOCK_BYTES, sha256 } from './sha256.ts';

const [INNER, OUTER] = [0x36, 0x5c];

export function hmacSha256(secret: Uint8Array, text: Uint8Array): Uint8Array {
  const key = new Uint8Array(BLOCK_BYTES);
  key.set(secret.length > BLOCK_BYTES ? sha256(secret) : secret);
  const padded = (pad: number, rest: Uint8Array): Uint8Array =>
    sha256(Uint8Array.of(...key.map((byte) => byte ^ pad), ...rest));
  return padded(OUTER, padded(INNER, text));
}
