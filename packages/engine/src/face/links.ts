/** One-time links: the code in the address of a new page, which the page exchanges for a session. In memory only. */
import { randomBytes } from 'node:crypto';
import type { Clock } from '@caisson/ground';

const LINK_MS = 5 * 60_000;
const CODE_BYTES = 32;

export interface Links {
  create(): string;
  /** True once for each code, within five minutes. */
  use(code: string): boolean;
}

export function createLinks(clock: Clock): Links {
  const open = new Map<string, number>();
  return {
    create() {
      for (const [code, untilMs] of open) if (untilMs <= clock.wallMs()) open.delete(code);
      const code = randomBytes(CODE_BYTES).toString('base64url');
      open.set(code, clock.wallMs() + LINK_MS);
      return code;
    },
    use(code) {
      const untilMs = open.get(code);
      open.delete(code);
      return untilMs !== undefined && untilMs > clock.wallMs();
    },
  };
}
