/** Distinguishes text that we wrote from text that others put there: text with its HMAC in front. */
import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto';
import { hmacSha256 } from './hmac-sha256.ts';

/** Signs with one secret. The purpose prevents a text that was signed for one use from being accepted for another. */
export interface Stamp {
  sign(purpose: string, text: string): string;
  isSigned(purpose: string, text: string, signature: string): boolean;
  /** The text with its signature in front. */
  wrap(purpose: string, text: string): string;
  /** The text that `wrap` got; null for anything else. */
  unwrap(purpose: string, wrapped: string): string | null;
}

export function createStamp(secret: Uint8Array): Stamp {
  const key = createSecretKey(secret); // made for each signature it would cost five times as much as the signature
  const sign = (purpose: string, text: string): string =>
    createHmac('sha256', key).update(`${purpose.length}:${purpose}`).update(text).digest('hex');
  const isSigned = (purpose: string, text: string, signature: string): boolean => {
    const [wanted, given] = [Buffer.from(sign(purpose, text)), Buffer.from(signature)];
    return wanted.length === given.length && timingSafeEqual(wanted, given);
  };
  return {
    sign,
    isSigned,
    wrap: (purpose, text) => `${sign(purpose, text)}\n${text}`,
    unwrap(purpose, wrapped) {
      const lineEnd = wrapped.indexOf('\n');
      const text = wrapped.slice(lineEnd + 1);
      return lineEnd !== -1 && isSigned(purpose, text, wrapped.slice(0, lineEnd)) ? text : null;
    },
  };
}

/** Whether the stamp with this secret signed it: for a process that checks one signature and loads nothing for it. */
export function isSignedWith(
  secret: Uint8Array,
  { purpose, text }: { readonly purpose: string; readonly text: string },
  signature: string,
): boolean {
  const bytes = hmacSha256(secret, Buffer.from(`${purpose.length}:${purpose}${text}`));
  const wanted = Buffer.from(bytes).toString('hex');
  let difference = wanted.length ^ signature.length;
  for (let at = 0; at < wanted.length; at += 1)
    difference |= wanted.charCodeAt(at) ^ signature.charCodeAt(at);
  return difference === 0;
}
