/** Carries deliveries from the outbox to their endpoints: claims, tries, waits, tries again, concludes. */
import { backoffMs, pause, withinMs } from '../platform/index.ts';
import type { CallbackLimits, CallbacksOptions } from './contract.ts';
import type { Delivery, Outbox } from './outbox.ts';
import { post, type PostOutcome } from './post.ts';
import { describeUrl, signCallback } from './sign.ts';

const LIMITS: CallbackLimits = { tryMs: 5000, maxTries: 6, maxAgeMs: 86_400_000, backoffBaseMs: 1000 };
/** So long a host that stops waits for what it still records: the next one finds the claim of a dead host, and goes on. */
const LAST_WRITES_MS = 2000;

export class Courier {
  readonly #options: CallbacksOptions;
  readonly #limits: CallbackLimits;
  readonly #outbox: Outbox;
  readonly #stop = new AbortController();
  /** Ends the waits for a locked ledger, too. */
  readonly #over = new AbortController();
  /** Deliveries that this host sends or waits to send. */
  readonly #inHand = new Map<string, Promise<void>>();

  constructor(options: CallbacksOptions, outbox: Outbox) {
    this.#options = options;
    this.#limits = { ...LIMITS, ...options.limits };
    this.#outbox = outbox;
  }

  take(id: string): void {
    if (this.#inHand.has(id) || this.#stop.signal.aborted) return;
    const work = this.#carry(id)
      .catch((error: unknown) => this.#report(id, error))
      .finally(() => this.#inHand.delete(id));
    this.#inHand.set(id, work);
  }

  #report(id: string, error: unknown): void {
    if (!this.#over.signal.aborted) this.#options.warn(`callback ${id}: ${(error as Error).message}`);
  }

  /** Tries until it is delivered, failed for good, or this host stops. */
  async #carry(id: string): Promise<void> {
    const { hostId, ledger } = this.#options;
    const { leases } = ledger;
    if (!(await this.#claim(id))) return;
    try {
      for (let delivery = this.#outbox.get(id); delivery !== null; delivery = this.#outbox.get(id)) {
        await this.#pauseUntil(delivery.dueAtMs);
        if (this.#stop.signal.aborted) return;
        await this.#judge(delivery, await this.#attempt(delivery));
        if (this.#stop.signal.aborted) return;
      }
    } finally {
      await ledger.whenFree(() => leases.free(claimOf(id), hostId), this.#over.signal);
    }
  }

  /** C5 */
  async #claim(id: string): Promise<boolean> {
    const { hostId, isHostAlive, ledger } = this.#options;
    const { leases, whenFree } = ledger;
    const { signal } = this.#stop;
    const tryHold = (): boolean => leases.tryHold(claimOf(id), hostId, hostId);
    if (await whenFree(tryHold, signal)) return true;
    const holder = leases.holderOf(claimOf(id));
    if (holder !== null && (await isHostAlive(holder.hostId))) return false;
    return await whenFree(() => {
      if (holder !== null) leases.free(claimOf(id), holder.holder);
      return tryHold();
    }, signal);
  }

  async #attempt(delivery: Delivery): Promise<PostOutcome> {
    let headers: Record<string, string>;
    try {
      headers = await this.#headersOf(delivery);
    } catch (error) {
      return { kind: 'refused', detail: (error as Error).message, isFinal: false };
    }
    return post({
      url: delivery.endpoint.url,
      headers,
      body: delivery.body,
      timeoutMs: this.#limits.tryMs,
      signal: this.#stop.signal,
    });
  }

  /** C4 */
  async #headersOf({ id, runId, event, endpoint, body }: Delivery): Promise<Record<string, string>> {
    const { resolveSecret, clock } = this.#options;
    const timestamp = String(Math.floor(clock.wallMs() / 1000));
    const { key, authorization } = endpoint;
    return {
      'content-type': 'application/json',
      'user-agent': 'caisson',
      'x-caisson-run': runId,
      'x-caisson-event': event,
      'x-caisson-delivery': id,
      'x-caisson-timestamp': timestamp,
      ...(key === undefined
        ? {}
        : { 'x-caisson-signature': signCallback(await resolveSecret(key), runId, timestamp, body) }),
      ...(authorization === undefined
        ? {}
        : { authorization: `Bearer ${await resolveSecret(authorization)}` }),
    };
  }

  async #judge(delivery: Delivery, outcome: PostOutcome): Promise<void> {
    if (outcome.kind === 'cut') return;
    const tries = delivery.tries + 1;
    if (outcome.kind === 'taken')
      return this.#conclude(delivery, 'callback.delivered', { status: outcome.status, tries });
    const nowMs = this.#options.clock.wallMs();
    const isLast =
      outcome.isFinal ||
      tries >= this.#limits.maxTries ||
      nowMs - delivery.queuedAtMs > this.#limits.maxAgeMs;
    if (isLast) return this.#conclude(delivery, 'callback.failed', { detail: outcome.detail, tries });
    const delayMs = backoffMs(tries - 1, { baseMs: this.#limits.backoffBaseMs });
    const next = { ...delivery, tries, dueAtMs: nowMs + delayMs, problem: outcome.detail };
    await this.#options.ledger.whenFree(() => this.#outbox.put(next), this.#over.signal);
  }

  /** C2: the event first, then the row; in between, the id of the event prevents a second one. */
  async #conclude(
    delivery: Delivery,
    type: 'callback.delivered' | 'callback.failed',
    data: { status: number; tries: number } | { detail: string; tries: number },
  ): Promise<void> {
    const { runId, attempt, trace, event, endpoint } = delivery;
    await this.#options.recorder
      .of(runId, trace)
      .append(
        type,
        { url: describeUrl(endpoint.url), event, ...data },
        { attempt, id: `callback:${delivery.id}` },
      );
    await this.#options.ledger.whenFree(() => this.#outbox.remove(delivery.id), this.#over.signal);
  }

  async #pauseUntil(dueAtMs: number): Promise<void> {
    const { clock } = this.#options;
    const waitMs = dueAtMs - clock.wallMs();
    if (waitMs > 0) await pause(clock, waitMs, this.#stop.signal);
  }

  async settle(limitMs: number): Promise<void> {
    const { clock } = this.#options;
    const over = Promise.withResolvers<void>();
    const cancel = clock.setTimer(limitMs, over.resolve);
    const endMs = clock.wallMs() + limitMs;
    let isOver = false;
    void over.promise.then(() => (isOver = true));
    while (!isOver) {
      const soon = [...this.#inHand].filter(([id]) => (this.#outbox.get(id)?.dueAtMs ?? 0) < endMs);
      if (soon.length === 0) break;
      await Promise.race([Promise.all(soon.map(([, work]) => work)), over.promise]);
    }
    cancel();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await withinMs(this.#options.clock, LAST_WRITES_MS, Promise.all(this.#inHand.values()));
    this.#over.abort();
  }
}

const claimOf = (id: string): string => `callback:${id}`;
