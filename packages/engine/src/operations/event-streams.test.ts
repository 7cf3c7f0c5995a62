/** Server-sent events over HTTP: a real server and real sockets over a feed. */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, get, type ClientRequest, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@caisson/ground';
import { toEnvelope, type EventEnvelope } from '@caisson/protocol';
import { afterEach, expect, it, onTestFinished, vi } from 'vitest';
import { createApi, createAttachments, type ApiHost } from '../api/index.ts';
import { OPEN_ENTRANCE } from '../api/fixtures/open-entrance.ts';
import type { Caisson } from '../caisson-contract.ts';
import type { Engine } from '../engine.ts';
import { createFeed, createMemoryLedger, createRecorder, type FeedQuery } from '../ledger/index.ts';
import { attachRun } from './attach-run.ts';

const RUN = 'run_00000000000000000001';
const LIVE = 10_000;
const ALIVE_MS = 15_000;

afterEach(() => void vi.useRealTimers());

async function serve() {
  const ledger = createMemoryLedger();
  const recorder = createRecorder({ ledger, clock: systemClock });
  const feed = createFeed({ ledger, recorder, clock: systemClock });
  let readers = 0;
  async function* read(query: FeedQuery): AsyncGenerator<EventEnvelope> {
    readers += 1;
    try {
      for await (const event of feed.read(query)) yield toEnvelope(event);
    } finally {
      readers -= 1;
    }
  }
  const follow = (first: unknown, how: FeedQuery = {}): AsyncIterable<EventEnvelope> =>
    typeof first === 'string' ? read({ ...how, runId: first }) : read(first ?? {});
  const dispatcher = { active: () => null }; // another host drives it, and lives
  const others = { dispatcher, recover: () => Promise.resolve() };
  const engine = { ledger, feed: { read }, clock: systemClock, ...others } as unknown as Engine;
  const attach: Caisson['attach'] = (run, how) => Promise.resolve(attachRun(engine, run, how));
  const host = { caisson: { follow, attach } as unknown as Caisson } as unknown as ApiHost;
  const server = createServer(createApi(host, createAttachments(systemClock), OPEN_ENTRANCE));
  const folder = mkdtempSync(join(tmpdir(), 'caisson-sse-'));
  const socketPath = join(folder, 'socket');
  server.listen(socketPath);
  await once(server, 'listening');
  onTestFinished(() => {
    feed.stop();
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true });
  });
  const connect = async (path: string): Promise<IncomingMessage> =>
    ((await once(get({ socketPath, path, agent: false }), 'response')) as [IncomingMessage])[0];
  const ask = (path: string): ClientRequest =>
    get({ socketPath, path, agent: false }).on('error', () => undefined);
  return { record: recorder.of(RUN), connect, ask, readers: () => readers };
}

/** What has come, up to where it is as wanted. */
async function readUntil(
  answer: AsyncIterable<unknown>,
  isThere: (text: string) => boolean,
): Promise<string> {
  let text = '';
  for await (const part of answer) {
    text += String(part);
    if (isThere(text)) return text;
  }
  return text;
}

it('a reader gets a comment every 15 seconds while there is no event', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const { connect } = await serve();
  const answer = await connect('/v1/events');
  const comments = readUntil(answer, (text) => text === ':\n\n'.repeat(3));
  await vi.advanceTimersByTimeAsync(ALIVE_MS);
  await vi.advanceTimersByTimeAsync(ALIVE_MS);
  expect(await comments).toBe(':\n\n'.repeat(3));
});

it('a reader that does not read gets the number of what it missed, and everything that is recorded', async () => {
  const { record, connect } = await serve();
  const [sleeper, other] = [await connect('/v1/events'), await connect('/v1/events')];
  const seen = readUntil(other, (text) => text.includes('"type":"gap"') || text.includes('"position":7'));
  sleeper.pause();
  for (let index = 0; index < LIVE; index += 1) {
    record.publish('worker.progress', { phase: 'agent', message: `${index} ${'x'.repeat(500)}` }, 1);
    if (index % 100 === 0) await new Promise(setImmediate); // the other one reads meanwhile
  }
  await record.append('run.queued', { position: 7, limit: 1 }, { attempt: 0 });
  await seen; // the sleeper holds up nobody
  const text = await readUntil(sleeper, (all) => all.includes('"position":7'));
  const events = [...text.matchAll(/^data: (.*)$/gm)].map(
    ([, data]) => JSON.parse(data ?? '') as EventEnvelope,
  );
  const missed = events.reduce((sum, event) => sum + (event.type === 'gap' ? event.count : 0), 0);
  expect(missed).toBeGreaterThan(0);
  expect(events.filter(({ type }) => type === 'worker.progress').length + missed).toBe(LIVE);
  expect(/^id: (\d+)\ndata: \{"type":"run.queued"/m.exec(text)?.[1]).toBe('1');
});

it('a reader that goes away leaves nothing behind, whatever it did with what came', async () => {
  const { record, connect, readers } = await serve();
  const all = [
    await connect('/v1/events'),
    await connect('/v1/events?after=0'),
    await connect(`/v1/runs/${RUN}/events/live`),
  ];
  await vi.waitFor(() => expect(readers()).toBe(all.length));
  for (let index = 0; index < 5000; index += 1)
    record.publish('worker.progress', { phase: 'agent', message: 'x'.repeat(500) }, 1); // those are full now
  for (const answer of all) answer.destroy();
  await vi.waitFor(() => expect(readers()).toBe(0), { timeout: 10_000 });
});

it('who waits for an ending and goes away leaves nothing behind', async () => {
  const { ask, readers } = await serve();
  const waiting = ask(`/v1/runs/${RUN}/ended`);
  await vi.waitFor(() => expect(readers()).toBe(1));
  waiting.destroy();
  await vi.waitFor(() => expect(readers()).toBe(0));
});

it('the ids of a run are its own, and a reader goes on behind the last one', async () => {
  const { record, connect } = await serve();
  for (const position of [1, 2, 3]) await record.append('run.queued', { position, limit: 3 }, { attempt: 0 });
  const answer = await connect(`/v1/runs/${RUN}/events/live?after=1`);
  const text = await readUntil(answer, (all) => all.includes('id: 3'));
  expect([...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => id)).toEqual(['2', '3']);
});
