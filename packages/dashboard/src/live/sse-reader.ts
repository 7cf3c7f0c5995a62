/** Server-sent events out of the bytes of a response, whatever the borders of its pieces are. */
export interface SseRecord {
  readonly event: string;
  readonly data: string;
}

/** A record that grows beyond this is dropped: a host writes no such thing. */
const MAX_RECORD_CHARS = 8 * 1024 * 1024;

export class SseReader {
  #rest = '';
  #event = 'message';
  #data: string[] = [];
  #size = 0;

  /** The records that this piece completes. */
  push(text: string): SseRecord[] {
    const lines = (this.#rest + text).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? '';
    if (this.#rest.length > MAX_RECORD_CHARS) this.#rest = '';
    return lines.flatMap((line) => this.#readLine(line) ?? []);
  }

  #readLine(line: string): SseRecord | null {
    if (line === '') return this.#complete();
    const colon = line.indexOf(':');
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'event') this.#event = value;
    if (field === 'data' && this.#size <= MAX_RECORD_CHARS) {
      this.#data.push(value);
      this.#size += value.length;
    }
    return null;
  }

  #complete(): SseRecord | null {
    const record = { event: this.#event, data: this.#data.join('\n') };
    const isEmpty = this.#data.length === 0;
    this.#event = 'message';
    this.#data = [];
    this.#size = 0;
    return isEmpty ? null : record;
  }
}

/** Every record of a stream, until it ends or is aborted. */
export async function* readRecords(stream: ReadableStream<Uint8Array>): AsyncGenerator<SseRecord | null> {
  const reader = new SseReader();
  const bytes = stream.getReader();
  const decoder = new TextDecoder();
  try {
    for (let next = await bytes.read(); !next.done; next = await bytes.read()) {
      const records = reader.push(decoder.decode(next.value, { stream: true }));
      // A piece without a record is a heartbeat: the connection is alive.
      if (records.length === 0) yield null;
      yield* records;
    }
  } finally {
    await bytes.cancel().catch(() => undefined);
  }
}
