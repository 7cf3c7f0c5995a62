import * as z from 'zod/mini';

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const TIME_CHARACTERS = 10;
const RANDOM_CHARACTERS = 10;

/** `run_` + 20 lowercase base-32 characters; lexical order is creation order to the millisecond. */
export const RunId = z.string().check(z.regex(/^run_[0-9a-z]{20}$/));
export type RunId = z.infer<typeof RunId>;

/** Makes an id with the given prefix: ten characters of time, ten random ones. */
export function createId<P extends string>(prefix: P, nowMs: number, random: Uint8Array): `${P}_${string}` {
  return `${prefix}_${encodeTime(nowMs)}${encodeRandom(random)}`;
}

function encodeTime(nowMs: number): string {
  let rest = nowMs;
  let text = '';
  for (let index = 0; index < TIME_CHARACTERS; index += 1) {
    text = ALPHABET.charAt(rest % 32) + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}

function encodeRandom(random: Uint8Array): string {
  if (random.length < RANDOM_CHARACTERS)
    throw new RangeError(`an id needs ${RANDOM_CHARACTERS} random bytes`);
  return Array.from(random.subarray(0, RANDOM_CHARACTERS), (byte) => ALPHABET.charAt(byte % 32)).join('');
}

/** A sha256 digest in lowercase hex. */
export const Sha256 = z.string().check(z.regex(/^[0-9a-f]{64}$/));
export type Sha256 = z.infer<typeof Sha256>;

/** RFC 3339 UTC with milliseconds. */
export const Timestamp = z.string().check(z.regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/));
export type Timestamp = z.infer<typeof Timestamp>;
