/** Answers to requests with an idempotency key, in the ledger's values: the next daemon knows them, too. */
import { createHash } from 'node:crypto';
import { CaissonError } from '@caisson/protocol';
import * as z from 'zod/mini';
import type { KeptAnswers } from '../api/index.ts';
import type { Engine } from '../engine.ts';

const SPACE = 'answers';
const KEEP_MS = 24 * 3_600_000;
const SWEEP_MS = 60_000;
/** Of one owner; the oldest go first. */
const MAX_KEPT = 1000;
/** A longer one is not kept: a repeat is refused. */
const MAX_ANSWER_LENGTH = 64 * 1024;

/** The key belongs to another request, or its answer cannot be repeated. */
export class IdempotencyKeyError extends CaissonError {
  readonly code: string;

  constructor(code: string, message: string, remedy: string) {
    super(message, { remedy });
    this.code = code;
  }
}

const Kept = z.object({
  /** A digest of what was asked. */
  request: z.string(),
  hostId: z.string(),
  atMs: z.number(),
  /** `gone`: it was done, and its answer is not kept. */
  state: z.enum(['under-way', 'answered', 'gone']),
  answer: z.optional(z.unknown()),
});
type Kept = z.infer<typeof Kept>;

export function createKeptAnswers({ ledger, clock, hostId }: Engine): KeptAnswers {
  const { kv } = ledger;
  const read = (key: string): Kept | null => z.safeParse(Kept, kv.get(SPACE, key)).data ?? null;
  let sweptMs = 0;
  const sweep = (nowMs: number): void => {
    if (nowMs - sweptMs < SWEEP_MS) return;
    sweptMs = nowMs;
    const all = kv.list(SPACE).map(({ key }) => ({ key, atMs: read(key)?.atMs ?? 0 }));
    const newest = all.toSorted((a, b) => b.atMs - a.atMs);
    const counts = new Map<string, number>();
    for (const { key, atMs } of newest) {
      const owner = key.slice(0, key.indexOf(':') + 1); // as `readKey` writes it; '' is the account itself
      const count = (counts.get(owner) ?? 0) + 1;
      counts.set(owner, count);
      if (count > MAX_KEPT || nowMs - atMs > KEEP_MS) kv.delete(SPACE, key);
    }
  };
  return {
    begin(key, asked) {
      const request = createHash('sha256').update(asked).digest('hex');
      const atMs = clock.wallMs();
      const take = () => {
        const kept = read(key);
        if (kept !== null && atMs - kept.atMs <= KEEP_MS) return repeat(kept, request, hostId);
        kv.set(SPACE, key, { request, hostId, atMs, state: 'under-way' } satisfies Kept);
        return null;
      };
      return ledger.whenFree(() => {
        sweep(atMs);
        return ledger.alone(take);
      });
    },
    finish(key, answer, isSecret) {
      const isGone = isSecret || JSON.stringify(answer).length > MAX_ANSWER_LENGTH;
      const end = isGone ? ({ state: 'gone' } as const) : ({ state: 'answered', answer } as const);
      return ledger.whenFree(() => {
        const kept = read(key);
        if (kept !== null) kv.set(SPACE, key, { ...kept, ...end } satisfies Kept);
      });
    },
    drop: (key) => ledger.whenFree(() => void kv.delete(SPACE, key)),
  };
}

function repeat(kept: Kept, request: string, hostId: string): { answer: unknown } {
  if (kept.request !== request)
    throw new IdempotencyKeyError(
      'IDEMPOTENCY_KEY_TAKEN',
      'this idempotency key belongs to another request',
      'Use another key for another request.',
    );
  if (kept.state === 'answered') return { answer: kept.answer ?? null };
  if (kept.state === 'gone')
    throw new IdempotencyKeyError(
      'IDEMPOTENCY_ANSWER_GONE',
      'this was done, and its answer was given once',
      'Look at what there is; use a new key to do it once more.',
    );
  throw new IdempotencyKeyError(
    kept.hostId === hostId ? 'IDEMPOTENCY_UNDER_WAY' : 'IDEMPOTENCY_UNKNOWN',
    kept.hostId === hostId
      ? 'the first request with this key is under way'
      : 'a daemon before this one ended in the middle of this request',
    kept.hostId === hostId ? 'Ask again.' : 'Look whether it was done; use a new key if it was not.',
  );
}
