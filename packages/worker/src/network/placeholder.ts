/** Keys that look like the vendor's own, so that clients accept them, and open nothing (N2). */
import { randomBytes } from 'node:crypto';
import type { ModelApi } from '@caisson/protocol';

/** `length` characters that any key may have. */
export function randomWord(length: number): string {
  return randomBytes(length).toString('base64url').replaceAll(/[-_]/g, 'x').slice(0, length);
}

export function createPlaceholder(api: ModelApi): string {
  if (api === 'anthropic-messages') return `sk-ant-caisson-${randomWord(80)}`;
  if (api === 'gemini') return `AIzaCaisson${randomWord(28)}`;
  return `sk-caisson-${randomWord(48)}`;
}
