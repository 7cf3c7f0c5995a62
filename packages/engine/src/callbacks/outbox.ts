/** The rows of the outbox: what is to be told, and how often it was tried. */
import { createHash } from 'node:crypto';
import type { Ledger } from '../ledger/index.ts';
import * as z from 'zod/mini';

const ENDPOINTS = 'callback-endpoints';
const DELIVERIES = 'callback-outbox';

const Endpoint = z.object({
  url: z.string(),
  key: z.optional(z.string()),
  authorization: z.optional(z.string()),
  when: z.array(z.string()),
});
export type OpenEndpoint = z.infer<typeof Endpoint>;

const Opened = z.object({ host: z.string(), endpoints: z.array(Endpoint) });

const Delivery = z.object({
  id: z.string(),
  runId: z.string(),
  attempt: z.int(),
  trace: z.string(),
  event: z.string(),
  seq: z.int(),
  endpoint: Endpoint,
  body: z.string(),
  queuedAtMs: z.number(),
  dueAtMs: z.number(),
  tries: z.int(),
  problem: z.optional(z.string()),
});
export type Delivery = z.infer<typeof Delivery>;

export class Outbox {
  readonly #kv: Ledger['kv'];

  constructor(kv: Ledger['kv']) {
    this.#kv = kv;
  }

  open(runId: string, host: string, endpoints: readonly OpenEndpoint[]): void {
    this.#kv.set(ENDPOINTS, runId, { host, endpoints });
  }

  endpointsOf(runId: string): readonly OpenEndpoint[] {
    return this.#parseOpened(this.#kv.get(ENDPOINTS, runId))?.endpoints ?? [];
  }

  /** Everything of the run is queued: nobody needs to look at it again. */
  close(runId: string): void {
    this.#kv.delete(ENDPOINTS, runId);
  }

  openRuns(): { runId: string; host: string }[] {
    return this.#kv
      .list(ENDPOINTS)
      .map(({ key, value }) => ({ runId: key, host: this.#parseOpened(value)?.host ?? '' }));
  }

  put(delivery: Delivery): void {
    this.#kv.set(DELIVERIES, delivery.id, delivery);
  }

  get(id: string): Delivery | null {
    const row = this.#kv.get(DELIVERIES, id);
    return row === undefined ? null : Delivery.parse(row);
  }

  remove(id: string): void {
    this.#kv.delete(DELIVERIES, id);
  }

  list(): Delivery[] {
    return this.#kv.list(DELIVERIES).map(({ value }) => Delivery.parse(value));
  }

  #parseOpened(value: unknown): z.infer<typeof Opened> | null {
    return value === undefined ? null : Opened.parse(value);
  }
}

/** The same for the same event and endpoint, whoever queues it. */
export function deliveryId(runId: string, seq: number, url: string): string {
  return createHash('sha256').update(`${runId}.${seq}.${url}`).digest('hex').slice(0, 32);
}
