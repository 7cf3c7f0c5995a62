/**
 * Events for many readers of one host.
 *
 * SE1  What comes together is written together: a reader gets at most one write each BEAT_MS, or one each MAX_CHARS.
 * SE2  An event is made text once, for however many readers.
 * SE3  Readers share the turns of the event loop (`shareTurn`): a hundred hold it no longer than one.
 * SE4  Of a reader that does not read nothing is fetched: it holds one batch, and the feed counts what it loses.
 * SE5  The end of all parts is written at once, with what is there: a command that follows a run ends with the run.
 */
import type { ServerResponse } from 'node:http';
import { shareTurn } from '@caisson/ground';
import { toWire, type EventEnvelope } from '@caisson/protocol';
import { toProblem } from './problems.ts';
import { drained, type Outgoing } from './send-stream.ts';

/** A reader to whom nothing comes for longer may believe that we are gone. */
const ALIVE_MS = 15_000;
const BEAT_MS = 20;
const MAX_CHARS = 64 * 1024;
/** So many events of one reader are part of one turn. */
const AT_ONCE = 16;

/** A reader learns at once that it is connected, and again and again that it still is. */
export async function sendEvents(outgoing: Outgoing, parts: AsyncIterable<string>): Promise<void> {
  const response = outgoing as ServerResponse;
  const iterator = parts[Symbol.asyncIterator]();
  const first = iterator.next(); // what happens from here on is not missed
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  response.write(':\n\n');
  const alive = setInterval(() => response.writableNeedDrain || response.write(':\n\n'), ALIVE_MS);
  const batch = new Batch(response);
  try {
    let next = await batch.fetch(first);
    for (; next.done !== true && !response.destroyed; next = await batch.fetch(iterator.next()))
      await batch.add(next.value);
    batch.write();
    response.end();
  } catch {
    response.destroy();
  } finally {
    clearInterval(alive);
    await iterator.return?.();
  }
}

/** What is written to one reader next. */
class Batch {
  readonly #response: ServerResponse;
  #text = '';
  #inThisTurn = 0;
  #isFetching = false;
  /** What is added is going to be written. */
  #isDue = false;
  /** Not before, in the time of `performance.now()`. */
  #nextAtMs = 0;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  /** Nothing else is there while this waits: what was added goes out. */
  async fetch<T>(coming: Promise<T>): Promise<T> {
    this.#isFetching = true;
    try {
      return await coming;
    } finally {
      this.#isFetching = false;
    }
  }

  /** Resolves when the next part may be fetched. */
  async add(part: string): Promise<void> {
    if (this.#response.writableNeedDrain) await drained(this.#response);
    if (!this.#isDue) void this.#writeLater();
    this.#text += part;
    this.#inThisTurn += 1;
    if (this.#text.length >= MAX_CHARS) this.write();
    if (this.#inThisTurn >= AT_ONCE) await this.#share();
  }

  write(): void {
    if (this.#text !== '' && !this.#response.destroyed) this.#response.write(this.#text);
    this.#text = '';
  }

  /** What comes meanwhile is written with it. Nobody waits for this: SE5. */
  async #writeLater(): Promise<void> {
    this.#isDue = true;
    const waitMs = this.#nextAtMs - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    await this.#share();
    setImmediate(this.#writeWhenAlone);
  }

  async #share(): Promise<void> {
    await shareTurn();
    this.#inThisTurn = 0;
  }

  readonly #writeWhenAlone = (): void => {
    if (this.#text !== '' && !this.#isFetching && !this.#response.writableNeedDrain)
      return void setImmediate(this.#writeWhenAlone);
    this.#isDue = false;
    if (this.#text === '') return;
    this.write();
    this.#nextAtMs = performance.now() + BEAT_MS;
  };
}

/** In a run events are counted by `seq`, in the project by `offset`. What is not recorded has neither. */
export const seqOf = ({ seq }: EventEnvelope): number => seq;
export const offsetOf = ({ offset }: EventEnvelope): number => offset ?? 0;

/** Server-sent events. The last one says that nothing is missing, or what went wrong. */
export async function* encodeEvents(
  events: AsyncIterable<EventEnvelope>,
  idOf: (event: EventEnvelope) => number = seqOf,
): AsyncGenerator<string> {
  try {
    for await (const event of events) {
      const id = idOf(event) > 0 ? `id: ${idOf(event)}\n` : '';
      yield `${id}data: ${textOf(event)}\n\n`;
    }
    yield 'event: end\ndata: {}\n\n';
  } catch (error) {
    yield `event: problem\ndata: ${JSON.stringify(toProblem(error))}\n\n`;
  }
}

/** Readers of one event get one object. */
const texts = new WeakMap<EventEnvelope, string>();

function textOf(event: EventEnvelope): string {
  const known = texts.get(event);
  if (known !== undefined) return known;
  const text = JSON.stringify(toWire(event));
  texts.set(event, text);
  return text;
}
