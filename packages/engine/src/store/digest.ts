import { createHash, hash } from 'node:crypto';
import { Transform, type TransformCallback } from 'node:stream';

import { InvalidDigestError, StoreCorruptError } from './errors.ts';

const DIGEST = /^[0-9a-f]{64}$/;

export function isDigest(name: string): boolean {
  return DIGEST.test(name);
}

/** A digest becomes part of a path or key, so nothing else may pass. */
export function refuseInvalidDigest(digest: string): void {
  if (!isDigest(digest)) {
    throw new InvalidDigestError(
      `${JSON.stringify(String(digest).slice(0, 80))} is not a sha256 digest in lowercase hex`,
    );
  }
}

export function digestOf(bytes: Uint8Array): string {
  return hash('sha256', bytes);
}

/** Of no bytes. The digest alone says what the content is, so every store has it, and none stores it. */
export const EMPTY_DIGEST = digestOf(new Uint8Array());

/** Throws unless the bytes are what the digest says. */
export function verifyBytes(digest: string, bytes: Uint8Array, file: string): void {
  const actual = digestOf(bytes);
  if (actual !== digest) throw new StoreCorruptError(digest, file, `content hashes to ${actual}`);
}

/** Passes bytes through while hashing them. */
export class HashingStream extends Transform {
  readonly #hash = createHash('sha256');
  size = 0;
  digest = '';

  override _transform(chunk: Buffer, _encoding: BufferEncoding, callback: TransformCallback): void {
    this.#hash.update(chunk);
    this.size += chunk.length;
    callback(null, chunk);
  }

  override _flush(callback: TransformCallback): void {
    this.digest = this.#hash.digest('hex');
    callback();
  }
}

/** Delays the last chunk until the whole is verified, so that a consumer never sees a clean end of wrong bytes. */
export class VerifyingStream extends Transform {
  readonly #hash = createHash('sha256');
  readonly #expected: string;
  readonly #file: string;
  #held: Buffer | null = null;

  constructor(expected: string, file: string) {
    super();
    this.#expected = expected;
    this.#file = file;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, callback: TransformCallback): void {
    this.#hash.update(chunk);
    const ready = this.#held;
    this.#held = chunk;
    if (ready === null) callback();
    else callback(null, ready);
  }

  override _flush(callback: TransformCallback): void {
    const actual = this.#hash.digest('hex');
    if (actual === this.#expected) callback(null, this.#held ?? undefined);
    else callback(new StoreCorruptError(this.#expected, this.#file, `content hashes to ${actual}`));
  }
}
