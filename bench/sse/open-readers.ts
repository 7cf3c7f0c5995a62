import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';

export interface Readers {
  /** Of each event that each of them got: how old it was, in ms. */
  readonly delaysMs: readonly number[];
  /** Forgets what came until now. */
  reset(): void;
  close(): void;
}

const AT = '"at":"';
const AT_CHARS = '2026-01-01T00:00:00.000Z'.length;

/** So many connections that read a stream of events as it comes. */
export async function openReaders(url: string, token: string, count: number): Promise<Readers> {
  let delaysMs: number[] = [];
  const streams: IncomingMessage[] = [];
  while (streams.length < count) {
    const asked = request(url, { agent: false, headers: { authorization: `Bearer ${token}` } });
    asked.end();
    const [stream] = (await once(asked, 'response')) as [IncomingMessage];
    if (stream.statusCode !== 200) throw new Error(`${url} answered ${stream.statusCode}`);
    readTimes(stream, (delayMs) => delaysMs.push(delayMs));
    streams.push(stream);
  }
  return {
    get delaysMs() {
      return delaysMs;
    },
    reset: () => (delaysMs = []),
    close: () => streams.forEach((stream) => stream.destroy()),
  };
}

function readTimes(stream: IncomingMessage, report: (delayMs: number) => void): void {
  let rest = '';
  stream.on('error', () => undefined); // it is closed by us
  stream.setEncoding('utf8').on('data', (chunk: string) => {
    const nowMs = Date.now();
    const text = rest + chunk;
    const end = text.lastIndexOf('\n\n') + 2;
    for (let at = text.indexOf(AT); at !== -1 && at < end; at = text.indexOf(AT, at + AT_CHARS))
      report(nowMs - Date.parse(text.slice(at + AT.length, at + AT.length + AT_CHARS)));
    rest = text.slice(end);
  });
}
