import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { EventEnvelope } from '@caisson/protocol';
import { expect, onTestFinished, test, vi } from 'vitest';
import { encodeEvents, sendEvents } from './send-events.ts';

const READERS = 20;
const EVENTS = 300;

interface Stage {
  /** What was written to each reader, piece by piece. */
  readonly written: readonly string[][];
  readonly streams: readonly IncomingMessage[];
}

/** Real connections, each of which reads what `read` gives. */
async function openStage(
  readers: number,
  read: (response: ServerResponse) => AsyncIterable<EventEnvelope>,
): Promise<Stage> {
  const written: string[][] = [];
  const server = createServer((_, response) => {
    const pieces: string[] = [];
    written.push(pieces);
    const write = response.write.bind(response);
    response.write = (piece: string) => {
      pieces.push(piece);
      return write(piece);
    };
    void sendEvents(response, encodeEvents(read(response)));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const streams: IncomingMessage[] = [];
  while (streams.length < readers) {
    const [stream] = (await once(get({ port, agent: false }), 'response')) as [IncomingMessage];
    streams.push(stream);
  }
  return { written, streams };
}

async function readAll(stream: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of stream) text += String(chunk);
  return text;
}

/** Counts how often it is made text. */
const event = (seq: number, count: () => void = () => undefined, filling = ''): EventEnvelope =>
  ({
    ...{ type: 'warning', version: 1, runId: null, attempt: 1, seq, offset: seq, at: '', trace: '' },
    ...{ source: { toJSON: () => (count(), 'test') }, message: filling },
  }) as unknown as EventEnvelope;

const idsOf = (text: string): number[] => [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));

test('what comes together is written together, and made text once for all readers', async () => {
  let made = 0;
  const all = Array.from({ length: EVENTS }, (_, index) => event(index + 1, () => (made += 1)));
  let begin = (): void => undefined;
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const stage = await openStage(READERS, async function* () {
    await begun;
    yield* all;
  });
  begin();
  for (const text of await Promise.all(stage.streams.map(readAll))) {
    expect(idsOf(text)).toEqual(all.map(({ seq }) => seq));
    expect(text).toMatch(/\n\nevent: end\ndata: \{\}\n\n$/);
  }
  expect(made).toBe(EVENTS);
  const mostWrites = Math.max(...stage.written.map(({ length }) => length));
  expect(mostWrites).toBeLessThan(EVENTS / 4);
});

test('of a reader that does not read nothing more is fetched, and it goes on where it was', async () => {
  const total = 4000;
  let fetched = 0;
  const stage = await openStage(1, async function* () {
    for (; fetched < total; fetched += 1) yield event(fetched + 1, undefined, 'x'.repeat(10_000));
  });
  let before = -1;
  await vi.waitFor(
    () => {
      const isStill = fetched > 0 && fetched === before;
      before = fetched;
      expect(isStill).toBe(true);
    },
    { interval: 300, timeout: 20_000 },
  );
  expect(fetched).toBeLessThan(total);
  const [stream] = stage.streams;
  expect(idsOf(stream === undefined ? '' : await readAll(stream))).toEqual(
    Array.from({ length: total }, (_, index) => index + 1),
  );
});

test('the end is written at once, however lately something was written', async () => {
  let goOn = (): void => undefined;
  const isFirstRead = new Promise<void>((resolve) => (goOn = resolve));
  const stage = await openStage(1, async function* () {
    yield event(1);
    await isFirstRead;
    vi.useFakeTimers({ toFake: ['setTimeout'] }); // no beat ends any more
    yield event(2);
  });
  onTestFinished(() => void vi.useRealTimers());
  await vi.waitFor(() => expect(stage.written[0]?.join('')).toContain('id: 1'), { interval: 5 });
  goOn();
  const [stream] = stage.streams;
  expect(idsOf(stream === undefined ? '' : await readAll(stream))).toEqual([1, 2]);
});
