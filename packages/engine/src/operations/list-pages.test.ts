/** Lists over HTTP: no answer has all of a long one, and the client of the library gets it whole. */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, request, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@caisson/ground';
import { toEnvelope } from '@caisson/protocol';
import { expect, it, onTestFinished } from 'vitest';
import {
  connectSocket,
  createApi,
  createAttachments,
  createRemoteCaisson,
  type ApiHost,
} from '../api/index.ts';
import { OPEN_ENTRANCE } from '../api/fixtures/open-entrance.ts';
import type { Caisson } from '../caisson-contract.ts';
import { createMemoryLedger, type Ledger } from '../ledger/index.ts';
import { accepted, fact } from '../ledger/fixtures/sample-events.ts';

const RUNS = 1234;
const EVENTS = 2345;

interface Served {
  readonly remote: Caisson;
  /** The largest number of rows that one request has read. */
  most(): number;
  get(
    path: string,
  ): Promise<{ readonly rows: { runId: string; seq: number }[]; readonly next: string | null }>;
}

/** The routes over a ledger, on a socket. */
async function serve(ledger: Ledger): Promise<Served> {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-pages-'));
  const socketPath = join(folder, 'socket');
  let most = 0;
  const read = <T>(rows: T[]): Promise<T[]> => {
    most = Math.max(most, rows.length);
    return Promise.resolve(rows);
  };
  const caisson: Partial<Caisson> = {
    runs: (filter) => read(ledger.runs(filter)),
    spend: (filter) => read(ledger.spend(filter)),
    events: (runId, page) => read(ledger.read({ runId, ...page }).map(toEnvelope)),
  };
  const host = { caisson } as unknown as ApiHost;
  const server = createServer(createApi(host, createAttachments(systemClock), OPEN_ENTRANCE));
  server.listen(socketPath);
  await once(server, 'listening');
  const connection = connectSocket(socketPath);
  onTestFinished(() => {
    connection.close();
    server.close();
    rmSync(folder, { recursive: true });
  });
  return {
    remote: createRemoteCaisson({ connection, live: {}, caller: { cwd: folder } } as Parameters<
      typeof createRemoteCaisson
    >[0]),
    most: () => most,
    async get(path) {
      const asking = request({ socketPath, path, agent: false }).end();
      const [answer] = (await once(asking, 'response')) as [IncomingMessage];
      let text = '';
      for await (const part of answer) text += String(part);
      const [, next = null] = /^<(.+)>; rel="next"$/.exec(String(answer.headers.link ?? '')) ?? [];
      return { rows: JSON.parse(text) as { runId: string; seq: number }[], next };
    },
  };
}

async function fill(): Promise<Ledger> {
  const ledger = createMemoryLedger();
  const ids = Array.from({ length: RUNS }, (_, index) => `run_${String(index).padStart(6, '0')}`);
  await ledger.append(ids.map((runId) => accepted(runId)));
  await ledger.append(Array.from({ length: EVENTS }, () => fact('run_000000')));
  return ledger;
}

it('a list is read page by page, and no request reads more than a page', async () => {
  const ledger = await fill();
  const { get, most } = await serve(ledger);
  expect((await get('/v1/runs')).rows).toHaveLength(100);
  expect((await get('/v1/runs?limit=100000')).rows).toHaveLength(500);
  const seen: string[] = [];
  for (let next: string | null = '/v1/runs?newestFirst=true&limit=400'; next !== null;) {
    const page = await get(next);
    seen.push(...page.rows.map(({ runId }) => runId));
    next = page.next;
  }
  expect(seen).toEqual(ledger.runs({ newestFirst: true }).map(({ runId }) => runId));
  const whole = await get(`/v1/runs?limit=34&after=${ledger.runs()[1199]?.runId}`);
  expect([whole.rows.length, whole.next]).toEqual([34, null]);
  const events = await get('/v1/runs/run_000000/events?after=1000');
  expect([events.rows.at(-1)?.seq, events.next]).toEqual([
    2000,
    '/v1/runs/run_000000/events?after=2000&limit=1000',
  ]);
  expect(most()).toBeLessThanOrEqual(1001);
});

it('through a daemon the library gives all that it gives without one', async () => {
  const ledger = await fill();
  const { remote } = await serve(ledger);
  expect(await remote.runs()).toEqual(ledger.runs());
  expect(await remote.runs({ newestFirst: true, limit: 777 })).toEqual(
    ledger.runs({ newestFirst: true, limit: 777 }),
  );
  expect(await remote.runs({ limit: 0 })).toEqual([]);
  expect((await remote.events('run_000000')).map(({ seq }) => seq)).toEqual(
    Array.from({ length: EVENTS + 1 }, (_, index) => index + 1),
  );
  expect(await remote.events('run_000000', { after: 5, limit: 2 })).toHaveLength(2);
  expect(await remote.spend()).toEqual([]);
});
