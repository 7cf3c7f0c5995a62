/**
 * Who this page is. A link's code is exchanged once for a token, which stays in this tab: it is in `sessionStorage` and is
 * sent as a header, because a cookie would go to every other port of this machine.
 */
import { toProblemError } from './problem.ts';

const KEY = 'caisson.session';

export interface Session {
  readonly token: string;
  readonly scopes: readonly string[];
  readonly expiresAt?: string;
}

/** The code of a one-time link, or null. */
export function findLinkCode(hash: string): string | null {
  return new URLSearchParams(hash.replace(/^#/, '')).get('link');
}

export function readSession(storage: Pick<Storage, 'getItem'>, nowMs: number): Session | null {
  const stored = parseSession(storage.getItem(KEY));
  if (stored?.expiresAt !== undefined && Date.parse(stored.expiresAt) <= nowMs) return null;
  return stored;
}

export function keepSession(storage: Pick<Storage, 'setItem'>, session: Session): void {
  storage.setItem(KEY, JSON.stringify(session));
}

export function dropSession(storage: Pick<Storage, 'removeItem'>): void {
  storage.removeItem(KEY);
}

/** Exchanges the code. Throws a ProblemError where it is used up or too old. */
export async function exchangeLink(code: string): Promise<Session> {
  const response = await fetch('/v1/session', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'caisson-client': 'dashboard' },
    body: JSON.stringify({ link: code }),
  });
  const text = await response.text();
  const session = response.ok ? parseSession(text) : null;
  if (session === null) throw toProblemError(response.status, text);
  return session;
}

/** Null where the text is no session. */
export function parseSession(text: string | null): Session | null {
  if (text === null) return null;
  try {
    const value = JSON.parse(text) as Partial<Session> | null;
    if (typeof value?.token !== 'string' || !Array.isArray(value.scopes)) return null;
    const { token, scopes, expiresAt } = value;
    return { token, scopes, ...(typeof expiresAt === 'string' ? { expiresAt } : {}) };
  } catch {
    return null;
  }
}
