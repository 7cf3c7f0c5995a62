import { createHash } from 'node:crypto';

/** Short, because each declared key keeps some. */
export function shortDigest(text: string): string {
  return createHash('sha256').update(text).digest().toString('base64url', 0, 18);
}
