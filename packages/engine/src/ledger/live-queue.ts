/** Live events for one reader that keeps pace or loses some: it holds up nobody, and its memory is limited. */
import type { PublishedEvent } from './contract.ts';
import { composeGap, countLive, createFilter, type EventFilter, type PlacedEvent } from './live-event.ts';

/** The most events that wait for one reader. */
export const MAX_WAITING = 1000;

export class LiveQueue {
  readonly #passes: (event: PublishedEvent) => boolean;
  readonly #runId: string | null;
  readonly #signal: AbortSignal;
  #waiting: PlacedEvent[] = [];
  #leftOut = 0;
  #wake = (): void => undefined;

  constructor(filter: EventFilter, signal: AbortSignal) {
    this.#passes = createFilter(filter);
    this.#runId = filter.runs?.length === 1 ? (filter.runs[0] ?? null) : null;
    this.#signal = signal;
  }

  push(placed: PlacedEvent): void {
    if (placed.event.seq > 0 || !this.#passes(placed.event)) return;
    if (this.#waiting.length >= MAX_WAITING) {
      this.#leftOut += this.#waiting.reduce((sum, each) => sum + countLive(each), 0);
      this.#waiting = [];
    }
    this.#waiting.push(placed);
    this.#wake();
  }

  /** What waits goes out one by one, so that a reader that stops reading holds no more than the queue. */
  async *read(): AsyncGenerator<PlacedEvent, void, void> {
    while (!this.#signal.aborted) {
      const next = this.#takeGap() ?? this.#waiting.shift();
      if (next === undefined) await this.#nextPush();
      else yield next;
    }
  }

  #takeGap(): PlacedEvent | undefined {
    const [next] = this.#waiting;
    if (this.#leftOut === 0 || next === undefined) return undefined;
    const event = composeGap(this.#leftOut, this.#runId, next.event.at);
    this.#leftOut = 0;
    return { event, place: next.place };
  }

  #nextPush(): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.#signal.removeEventListener('abort', done);
        this.#wake = () => undefined;
        resolve();
      };
      this.#wake = done;
      this.#signal.addEventListener('abort', done, { once: true });
    });
  }
}
