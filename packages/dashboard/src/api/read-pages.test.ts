import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createClient, type Client } from './client.ts';
import { MAX_LISTED } from './read-pages.ts';

const PAGE = 1000;

/** A host with a list of so many rows, 1,000 an answer, as `Link` says; and the tab that asks it. */
async function createHost(rows: number): Promise<{ readonly client: Client; readonly asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://host');
    const from = Number(searchParams.get('after') ?? 0);
    const page = Array.from({ length: Math.min(PAGE, rows - from) }, (_, index) => from + index + 1);
    const last = page.at(-1) ?? rows;
    searchParams.set('after', String(last));
    if (last < rows) response.setHeader('link', `<${pathname}?${searchParams.toString()}>; rel="next"`);
    response.end(JSON.stringify(page));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const fetchFar = globalThis.fetch;
  // What a browser does with an address that has no host.
  vi.stubGlobal('fetch', (path: string, init: RequestInit) => fetchFar(new URL(path, origin), init));
  onTestFinished(() => {
    vi.unstubAllGlobals();
    server.closeAllConnections();
    server.close();
  });
  return { client: createClient('t', () => undefined), asked };
}

test('a list is read to its end, page by page, with the query of the first', async () => {
  const { client, asked } = await createHost(2500);
  const { rows, isMore } = await client.list<number>('/v1/spend', { session: 'a b' });
  expect([rows.length, rows.at(-1), isMore]).toEqual([2500, 2500, false]);
  expect(asked).toEqual([
    '/v1/spend?session=a+b',
    '/v1/spend?session=a+b&after=1000',
    '/v1/spend?session=a+b&after=2000',
  ]);
});

test('a list has a cap, and says that there is more', async () => {
  const { client } = await createHost(MAX_LISTED + 1);
  const cut = await client.list<number>('/v1/spend');
  expect([cut.rows.length, cut.isMore]).toEqual([MAX_LISTED, true]);
});

test('a list with exactly as many rows as are put together is whole', async () => {
  const { client } = await createHost(MAX_LISTED);
  const whole = await client.list<number>('/v1/spend');
  expect([whole.rows.length, whole.isMore]).toEqual([MAX_LISTED, false]);
});

test('pages that nobody wants any more are not asked for', async () => {
  const { client, asked } = await createHost(5000);
  const gone = new AbortController();
  const pages = client.pages<number>('/v1/runs/r/events', {}, gone.signal);
  await pages.next();
  gone.abort();
  await expect(pages.next()).rejects.toThrow();
  expect(asked).toHaveLength(1);
});
