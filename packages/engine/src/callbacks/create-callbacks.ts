import { CALLBACK_TYPES, definedOnly, isTerminal, TERMINAL_TYPES } from '@caisson/protocol';
import type {
  CallbackEndpoint,
  Callbacks,
  CallbacksOptions,
  CallbackStanding,
  CallbackEvent,
} from './contract.ts';
import { Courier } from './courier.ts';
import { deliveryId, Outbox, type OpenEndpoint } from './outbox.ts';
import { describeUrl } from './sign.ts';

export function createCallbacks(options: CallbacksOptions): Callbacks {
  return new OutboxCallbacks(options);
}

class OutboxCallbacks implements Callbacks {
  readonly #options: CallbacksOptions;
  readonly #outbox: Outbox;
  readonly #courier: Courier;

  constructor(options: CallbacksOptions) {
    this.#options = options;
    this.#outbox = new Outbox(options.ledger.kv, options.stamp);
    this.#courier = new Courier(options, this.#outbox);
  }

  open(runId: string, urls: readonly string[]): void {
    const configured = this.#options.endpoints;
    const extra = urls
      .filter((url) => !configured.some((endpoint) => endpoint.url === url))
      .map((url): CallbackEndpoint => ({ url }));
    const endpoints = [...configured, ...extra].map(toOpen);
    if (endpoints.length > 0) this.#outbox.open(runId, this.#options.hostId, endpoints);
  }

  async check(runId: string): Promise<void> {
    for (const { key, authorization } of this.#outbox.endpointsOf(runId)) {
      if (key !== undefined) await this.#options.resolveSecret(key);
      if (authorization !== undefined) await this.#options.resolveSecret(authorization);
    }
  }

  receive(event: CallbackEvent): void {
    if (event.runId === null || !(CALLBACK_TYPES as readonly string[]).includes(event.type)) return;
    try {
      const endpoints = this.#outbox.endpointsOf(event.runId);
      for (const endpoint of endpoints) if (endpoint.when.includes(event.type)) this.#queue(event, endpoint);
      if (isTerminal(event.type) && endpoints.length > 0) this.#outbox.close(event.runId);
    } catch (error) {
      this.#options.warn(`callbacks of ${event.runId} were not queued: ${(error as Error).message}`); // C3
    }
  }

  resume(): void {
    void this.#takeUp().catch((error: unknown) =>
      this.#options.warn(`earlier callbacks were not continued: ${(error as Error).message}`),
    );
  }

  standings(runId: string): readonly CallbackStanding[] {
    const reported = this.#options.ledger
      .read({ runId, types: ['callback.delivered', 'callback.failed'] })
      .map((reported): CallbackStanding => {
        const { url, event, tries } = reported.data;
        return reported.type === 'callback.delivered'
          ? { url, event, status: 'delivered', tries }
          : { url, event, status: 'failed', tries, detail: reported.data.detail };
      });
    const pending = this.#outbox
      .list()
      .filter((delivery) => delivery.runId === runId)
      .map(({ endpoint, event, tries, problem }): CallbackStanding => ({
        url: describeUrl(endpoint.url),
        event,
        status: 'pending',
        tries,
        ...definedOnly({ detail: problem }),
      }));
    return [...reported, ...pending];
  }

  settle(limitMs: number): Promise<void> {
    return this.#courier.settle(limitMs);
  }

  stop(): Promise<void> {
    return this.#courier.stop();
  }

  #queue(event: CallbackEvent, endpoint: OpenEndpoint): void {
    const runId = event.runId ?? '';
    const id = deliveryId(runId, event.seq, endpoint.url);
    const nowMs = this.#options.clock.wallMs();
    const { type, seq, at, attempt, trace, data } = event;
    this.#outbox.put({
      id,
      runId,
      attempt,
      trace,
      event: type,
      seq,
      endpoint,
      body: JSON.stringify({ ...data, type, runId, seq, at, attempt, trace }),
      queuedAtMs: nowMs,
      dueAtMs: nowMs,
      tries: 0,
    });
    this.#courier.take(id);
  }

  /** C1: what a dead host has not queued, and what is queued. */
  async #takeUp(): Promise<void> {
    const { ledger, hostId, isHostAlive, warn } = this.#options;
    const foreign = this.#outbox.dropForeign();
    if (foreign > 0) warn(`${foreign} queued callbacks were not written by this Caisson and were dropped`); // C6
    for (const { runId, host } of this.#outbox.openRuns()) {
      if (host === hostId || (await isHostAlive(host))) continue;
      const isOver = ledger.run(runId)?.ending !== undefined;
      if (isOver) this.#queueMissed(runId);
      else if (ledger.run(runId) === null) this.#outbox.close(runId); // it was never accepted
    }
    for (const { id } of this.#outbox.list()) this.#courier.take(id);
  }

  #queueMissed(runId: string): void {
    const reported = new Set(
      this.#standingKeys(runId).concat(
        this.#outbox.list().map(({ endpoint, event }) => `${event} ${describeUrl(endpoint.url)}`),
      ),
    );
    const endpoints = this.#outbox.endpointsOf(runId);
    for (const event of this.#options.ledger.read({ runId, types: [...CALLBACK_TYPES] })) {
      for (const endpoint of endpoints) {
        const isWanted = endpoint.when.includes(event.type);
        if (isWanted && !reported.has(`${event.type} ${describeUrl(endpoint.url)}`))
          this.#queue(event, endpoint);
      }
    }
    this.#outbox.close(runId);
  }

  #standingKeys(runId: string): string[] {
    return this.standings(runId).map(({ event, url }) => `${event} ${url}`);
  }
}

function toOpen({ url, key, authorization, when }: CallbackEndpoint): OpenEndpoint {
  return {
    url,
    ...definedOnly({ key, authorization }),
    when: [...(when ?? TERMINAL_TYPES)],
  };
}
