/**
 * Whether a log-in file that came back from a sandbox is the same log-in with new tokens. The agent could write
 * anything into it: only the tokens that the file had before are taken over, and only for the same account.
 */
import { isRecord } from '@caisson/protocol';

/** The members that a refresh changes, in the files of all programs. */
const TOKENS: ReadonlySet<string> = new Set([
  ...['access_token', 'refresh_token', 'id_token', 'expiry_date', 'last_refresh'],
  ...['accessToken', 'refreshToken', 'expiresAt', 'refreshTokenExpiresAt'],
  ...['access', 'refresh', 'expires'],
]);
/** Who is logged in, and how. */
const IDENTITY: ReadonlySet<string> = new Set([
  ...['account_id', 'accountId', 'auth_mode', 'email', 'organizationUuid', 'type', 'OPENAI_API_KEY', 'key'],
]);
const CLAIMS = ['iss', 'sub', 'email', 'https://api.openai.com/auth.chatgpt_account_id'] as const;
const MAX_TOKEN = 16_384;
const MAX_DEPTH = 4;

export type Refreshed =
  | { readonly kind: 'same' }
  | { readonly kind: 'refreshed'; readonly text: string }
  | { readonly kind: 'refused'; readonly why: string };

/** `before` is what the sandbox was given; both are the texts of the file. */
export function readRefreshed(before: string, after: string): Refreshed {
  if (before === after) return { kind: 'same' };
  let changed: unknown;
  try {
    changed = JSON.parse(after);
  } catch {
    return { kind: 'refused', why: 'it is not JSON' };
  }
  try {
    const known: unknown = JSON.parse(before);
    const merged = merge(known, changed, 0);
    return JSON.stringify(merged) === JSON.stringify(known)
      ? { kind: 'same' }
      : { kind: 'refreshed', text: `${JSON.stringify(merged, null, 2)}\n` };
  } catch (error) {
    return { kind: 'refused', why: (error as Error).message };
  }
}

/** Every text in the file that opens something, for the redactor. */
export function listTokens(text: string): string[] {
  const found: string[] = [];
  const visit = (value: unknown, name: string): void => {
    if (
      typeof value === 'string' &&
      (TOKENS.has(name) || /(?:key|secret|token|password)$/i.test(name)) &&
      value.length >= 8
    )
      found.push(value);
    if (isRecord(value)) for (const [key, member] of Object.entries(value)) visit(member, key);
  };
  visit(JSON.parse(text), '');
  return [...new Set(found)];
}

function merge(known: unknown, changed: unknown, depth: number): unknown {
  if (!isRecord(known)) return known;
  if (!isRecord(changed) || depth > MAX_DEPTH) throw new Error('a part of it is missing');
  const merged: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(known)) {
    const next = changed[name];
    if (TOKENS.has(name) && !isRecord(value)) merged[name] = takeToken(name, value, next);
    else if (IDENTITY.has(name) && next !== value) throw new Error(`"${name}" is of another account`);
    else merged[name] = isRecord(value) ? merge(value, next, depth + 1) : value;
  }
  return merged;
}

function takeToken(name: string, known: unknown, next: unknown): unknown {
  if (typeof next !== typeof known) throw new Error(`"${name}" is missing or of another kind`);
  if (typeof next === 'number' && Number.isFinite(next)) return next;
  if (typeof next === 'number') throw new Error(`"${name}" is no number`);
  if (typeof next !== 'string' || typeof known !== 'string') return known;
  if (next.length > MAX_TOKEN || !/^[\u0021-\u007e]+$/.test(next))
    throw new Error(`"${name}" is not a token`);
  const [was, is] = [readClaims(known), readClaims(next)];
  if (was !== null && CLAIMS.some((claim) => was[claim] !== is?.[claim]))
    throw new Error(`"${name}" is of another account`);
  return next;
}

/** Who a JSON Web Token is about; null for any other token. Its signature is the vendor's business. */
function readClaims(token: string): Record<string, unknown> | null {
  const payload = /^[\w-]+\.([\w-]+)\.[\w-]*$/.exec(token)?.[1];
  if (payload === undefined) return null;
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
    if (!isRecord(claims)) return null;
    const auth = claims['https://api.openai.com/auth'];
    const account = isRecord(auth) ? auth['chatgpt_account_id'] : undefined;
    return { ...claims, 'https://api.openai.com/auth.chatgpt_account_id': account };
  } catch {
    return null;
  }
}
