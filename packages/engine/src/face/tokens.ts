/** Tokens of visitors. What is kept is a digest, so that a copy of the ledger opens nothing (F3). */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Clock } from '@caisson/ground';
import { definedOnly, StoredToken, TokenView, type NewToken, type Scope } from '@caisson/protocol';
import * as z from 'zod/mini';
import type { Ledger } from '../ledger/index.ts';
import type { Visitor } from './contract.ts';

const SPACE = 'tokens';
const FORM = /^cai_([0-9a-f]{16})_([A-Za-z0-9_-]{43})$/;
const SECRET_BYTES = 32;
const ID_BYTES = 8;
/** Compared with where a token is not known, so that this takes as long. */
const NOTHING = digest('');

export interface TokenOrder {
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** Null: until it is revoked. */
  readonly expiresInMs: number | null;
  /** A session was exchanged for a link, and is not listed with those that a person made. */
  readonly kind: 'token' | 'session';
  readonly endsAt?: string | undefined;
}

export interface Tokens {
  create(order: TokenOrder): Promise<NewToken>;
  /** Makes another session in place of this one, or nothing: null when that one cannot be used any more. */
  rotate(id: string, order: TokenOrder): Promise<NewToken | null>;
  list(): TokenView[];
  /** False when there is none. The session that it was rotated to meanwhile ends, too. */
  revoke(id: string): Promise<boolean>;
  /** The sessions of all pages, also those that are being made (F7). */
  endSessions(): Promise<void>;
  /** Whose token it is; null when it is none of ours, or has expired. */
  check(token: string): Visitor | null;
  /** Whether the token of this id can be used now. */
  isGood(id: string): boolean;
}

export function createTokens(
  { kv, alone, whenFree }: Pick<Ledger, 'kv' | 'alone' | 'whenFree'>,
  clock: Clock,
): Tokens {
  const read = (id: string): StoredToken | null => z.safeParse(StoredToken, kv.get(SPACE, id)).data ?? null;
  const isOver = ({ expiresAt }: StoredToken): boolean =>
    expiresAt !== null && Date.parse(expiresAt) <= clock.wallMs();
  const isGood = (id: string): boolean => {
    const stored = read(id);
    return stored !== null && !isOver(stored);
  };
  /** Deletes and returns whether there were any. */
  const drop = (isMeant: (stored: StoredToken | null, id: string) => boolean): boolean => {
    const meant = kv.list(SPACE).filter(({ key }) => isMeant(read(key), key));
    for (const { key } of meant) kv.delete(SPACE, key);
    return meant.length > 0;
  };
  const dropOld = (): boolean => drop((stored) => stored === null || isOver(stored));
  /** In the order of the calls, each as a whole: what is made before `endSessions` ends with it. */
  const inTurn = <T>(work: () => T): Promise<T> => whenFree(() => alone(work));
  return {
    async create(order) {
      const { stored, shown } = makeToken(order, clock);
      await inTurn(() => {
        dropOld();
        kv.set(SPACE, stored.id, stored);
      });
      return shown;
    },
    rotate(id, order) {
      const { stored, shown } = makeToken(order, clock);
      return inTurn(() => {
        if (!isGood(id)) return null;
        dropOld();
        kv.delete(SPACE, id);
        kv.set(SPACE, stored.id, { ...stored, replaces: id } satisfies StoredToken);
        return shown;
      });
    },
    list: () =>
      kv
        .list(SPACE)
        .flatMap(({ key }) => read(key) ?? [])
        .filter((stored) => !isOver(stored))
        .map((stored) => z.parse(TokenView, stored))
        .toSorted((a, b) => a.createdAt.localeCompare(b.createdAt)),
    revoke: (id) => inTurn(() => drop((stored, key) => key === id || stored?.replaces === id)),
    endSessions: () => inTurn(() => void drop((stored) => stored?.kind === 'session')),
    isGood,
    check(token) {
      const [, id = '', secret = ''] = FORM.exec(token) ?? [];
      const stored = id === '' ? null : read(id);
      const expected = stored === null ? NOTHING : Buffer.from(stored.digest, 'hex');
      const isSame = timingSafeEqual(digest(secret), expected);
      if (stored === null || !isSame || isOver(stored)) return null;
      const { name, kind, scopes, expiresAt, endsAt } = stored;
      return { id, name, kind, scopes, expiresAt, ...definedOnly({ endsAt }) };
    },
  };
}

function makeToken(
  { name, scopes, expiresInMs, kind, endsAt }: TokenOrder,
  clock: Clock,
): { readonly stored: StoredToken; readonly shown: NewToken } {
  const id = randomBytes(ID_BYTES).toString('hex');
  const secret = randomBytes(SECRET_BYTES).toString('base64url');
  const view = {
    id,
    name,
    kind,
    scopes: [...scopes],
    createdAt: clock.now().toISOString(),
    expiresAt: expiresInMs === null ? null : new Date(clock.wallMs() + expiresInMs).toISOString(),
  };
  return {
    stored: { ...view, ...definedOnly({ endsAt }), digest: digest(secret).toString('hex') },
    shown: { ...view, token: `cai_${id}_${secret}` },
  };
}

function digest(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}
