/** One connection to the events of the project, opened again when it breaks. */
import type { WireEvent } from '@caisson/protocol';
import type { Client } from '../api/client.ts';
import { asProblem } from '../api/problem.ts';
import { FeedPosition, resolveWaitMs } from './feed-position.ts';
import { readRecords } from './sse-reader.ts';

export type FeedState = 'connecting' | 'live' | 'reconnecting' | 'stopped';

export interface FeedListener {
  onEvent(event: WireEvent): void;
  /** What was loaded before may lack something: load it again. */
  onResync(): void;
}

/** Heartbeats come more often: a connection without any is dead. */
const SILENCE_MS = 60_000;

export class LiveFeed {
  readonly #client: Client;
  readonly #position = new FeedPosition();
  readonly #listeners = new Set<FeedListener>();
  readonly #stateListeners = new Set<() => void>();
  readonly #stopped = new AbortController();
  #state: FeedState = 'connecting';

  constructor(client: Client) {
    this.#client = client;
  }

  get state(): FeedState {
    return this.#state;
  }

  subscribe(listener: FeedListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  subscribeState(listener: () => void): () => void {
    this.#stateListeners.add(listener);
    return () => this.#stateListeners.delete(listener);
  }

  start(): void {
    void this.#run();
  }

  stop(): void {
    this.#stopped.abort();
    this.#setState('stopped');
  }

  async #run(): Promise<void> {
    let failures = 0;
    while (!this.#stopped.signal.aborted) {
      const wasLive = await this.#connect();
      failures = wasLive ? 1 : failures + 1;
      if (this.#stopped.signal.aborted) return;
      this.#setState('reconnecting');
      await pause(resolveWaitMs(failures, Math.random()), this.#stopped.signal);
    }
  }

  /** One connection until it ends. Whether it had been open. */
  async #connect(): Promise<boolean> {
    const connection = new AbortController();
    const stop = () => connection.abort();
    this.#stopped.signal.addEventListener('abort', stop);
    let silence = setTimeout(stop, SILENCE_MS);
    let wasLive = false;
    try {
      const after = this.#position.offset;
      const query = after === null ? {} : { after };
      const stream = await this.#client.open('/v1/events', query, connection.signal);
      wasLive = true;
      this.#setState('live');
      // Also after a break: what was asked for meanwhile has failed, and no event may concern it.
      this.#resync();
      for await (const record of readRecords(stream)) {
        clearTimeout(silence);
        silence = setTimeout(stop, SILENCE_MS);
        if (record?.event === 'message') this.#publish(JSON.parse(record.data) as WireEvent);
        if (record !== null && record.event !== 'message') break;
      }
    } catch (error) {
      if (asProblem(error).status === 401) this.stop();
    } finally {
      clearTimeout(silence);
      this.#stopped.signal.removeEventListener('abort', stop);
      connection.abort();
    }
    return wasLive;
  }

  #publish(event: WireEvent): void {
    if (event.type === 'gap') return this.#resync();
    if (!this.#position.accept(event)) return;
    for (const listener of this.#listeners) listener.onEvent(event);
  }

  #resync(): void {
    for (const listener of this.#listeners) listener.onResync();
  }

  #setState(state: FeedState): void {
    if (this.#state === state) return;
    this.#state = state;
    for (const listener of this.#stateListeners) listener();
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    const end = () => {
      clearTimeout(timer);
      resolve();
    };
    signal.addEventListener('abort', end, { once: true });
  });
}
