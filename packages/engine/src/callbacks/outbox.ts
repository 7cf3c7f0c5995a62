/** The rows of the outbox: what is to be sent, and how often it was tried. */
import { createHash } from 'node:crypto';
import type { Stamp } from '@caisson/ground';
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

/** C6: every row is signed; one that is not is no row. */
export class Outbox {
  readonly #kv: Ledger['kv'];
  readonly #stamp: Stamp;

  constructor(kv: Ledger['kv'], stamp: Stamp) {
    this.#kv = kv;
    this.#stamp = stamp;
  }

  open(runId: string, host: string, endpoints: readonly OpenEndpoint[]): void {
    this.#set(ENDPOINTS, runId, { host, endpoints });
  }

  endpointsOf(runId: string): readonly OpenEndpoint[] {
    return this.#read(Opened, ENDPOINTS, runId, this.#kv.get(ENDPOINTS, runId))?.endpoints ?? [];
  }

  /** Everything of the run is queued: it need not be checked again. */
  close(runId: string): void {
    this.#kv.delete(ENDPOINTS, runId);
  }

  openRuns(): { runId: string; host: string }[] {
    return this.#kv.list(ENDPOINTS).flatMap(({ key, value }) => {
      const opened = this.#read(Opened, ENDPOINTS, key, value);
      return opened === null ? [] : [{ runId: key, host: opened.host }];
    });
  }

  put(delivery: Delivery): void {
    this.#set(DELIVERIES, delivery.id, delivery);
  }

  get(id: string): Delivery | null {
    return this.#read(Delivery, DELIVERIES, id, this.#kv.get(DELIVERIES, id));
  }

  remove(id: string): void {
    this.#kv.delete(DELIVERIES, id);
  }

  list(): Delivery[] {
    return this.#kv
      .list(DELIVERIES)
      .flatMap(({ key, value }) => this.#read(Delivery, DELIVERIES, key, value) ?? []);
  }

  /** Deletes the rows that this state folder's Caisson did not write; returns how many there were. */
  dropForeign(): number {
    const foreign = [ENDPOINTS, DELIVERIES].flatMap((space) =>
      this.#kv
        .list(space)
        .filter(({ key, value }) => this.#unwrap(space, key, value) === null)
        .map(({ key }) => ({ space, key })),
    );
    for (const { space, key } of foreign) this.#kv.delete(space, key);
    return foreign.length;
  }

  #set(space: string, key: string, value: unknown): void {
    this.#kv.set(space, key, this.#stamp.wrap(`${space}:${key}`, JSON.stringify(value)));
  }

  #read<T>(schema: z.ZodMiniType<T>, space: string, key: string, value: unknown): T | null {
    const text = this.#unwrap(space, key, value);
    return text === null ? null : schema.parse(JSON.parse(text));
  }

  #unwrap(space: string, key: string, value: unknown): string | null {
    return typeof value === 'string' ? this.#stamp.unwrap(`${space}:${key}`, value) : null;
  }
}

/** The same for the same event and endpoint, in every process. */
export function deliveryId(runId: string, seq: number, url: string): string {
  return createHash('sha256').update(`${runId}.${seq}.${url}`).digest('hex').slice(0, 32);
}
