/** The streams of a caller around its command, over a real socket; only the clock is the test's. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { createManualClock } from '@caisson/ground';
import type { DispatchResult, OutputName } from '@caisson/protocol';
import { expect, onTestFinished, test } from 'vitest';
import type { Attachment, RunHandle } from '../admission/index.ts';
import type { Caisson } from '../caisson-contract.ts';
import { AttachmentGoneError, createAttachments } from './attachments.ts';
import type { ApiHost } from './contract.ts';
import { createApi } from './create-api.ts';
import { OPEN_ENTRANCE } from './fixtures/open-entrance.ts';
import { dispatchRemote } from './remote-handle.ts';
import { connectSocket } from './socket-connection.ts';

const RUN = 'run_a';
const ASKED = { writes: true, reads: true };

/** A host with one run: the test lets it print, and what it prints is recorded. */
async function openHost() {
  const clock = createManualClock();
  const accepted = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<DispatchResult>();
  const printed = new PassThrough();
  let attached: Attachment = {};
  const handle = { runId: RUN, ended: ended.promise } as unknown as RunHandle;
  const caisson = {
    async dispatch(_request: object, attachment: Attachment) {
      attached = attachment;
      await accepted.promise;
      return handle;
    },
    attach: () => Promise.resolve(handle),
    followLog: (_run: string, name: OutputName) => (name === 'stdout' ? printed : Readable.from([])),
  } as unknown as Caisson;
  const host = { caisson, forCaller: () => Promise.resolve(caisson) } as unknown as ApiHost;
  const server = createServer(createApi(host, createAttachments(clock), OPEN_ENTRANCE));
  const folder = mkdtempSync(join(tmpdir(), 'caisson-attachments-'));
  server.listen(join(folder, 'a.sock'));
  await once(server, 'listening');
  const connection = connectSocket(join(folder, 'a.sock'));
  onTestFinished(() => {
    connection.close();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const print = async (text: string): Promise<void> => {
    printed.write(text);
    await attached.write?.('stdout', [Buffer.from(text)]);
  };
  const end = (): void => {
    printed.end();
    ended.resolve({ runId: RUN, status: 'done' } as DispatchResult);
  };
  const isAsked = (): boolean => attached.write !== undefined;
  return { clock, connection, accept: () => accepted.resolve(), isAsked, print, end };
}

type Host = Awaited<ReturnType<typeof openHost>>;

/** What the caller prints until its run has ended; `whenDispatched` comes before it fetches its streams. */
async function dispatch({ connection }: Host, whenDispatched = (): void => undefined) {
  const written: string[] = [];
  const write: Attachment['write'] = (name, parts) => {
    written.push(`${name} ${Buffer.concat(parts).toString()}`);
    return Promise.resolve();
  };
  const request = async (asked: Parameters<typeof connection.request>[0]) => {
    const answer = await connection.request(asked);
    if (asked.path === '/v1/runs') whenDispatched();
    return answer;
  };
  const caller = { cwd: '/', env: {} };
  const handle = await dispatchRemote({ connection: { ...connection, request }, caller }, {}, { write });
  await handle.ended;
  return written;
}

test('a run that is accepted late still has the streams of its caller', async () => {
  const host = await openHost();
  const written = dispatch(host);
  await expect.poll(host.isAsked).toBe(true);
  host.clock.advance(60_000); // the ledger was locked
  host.accept();
  await host.print('hello\n');
  host.end();
  expect(await written).toEqual(['stdout hello\n']);
});

test('a caller that comes too late for its streams gets what is recorded, and holds up nothing', async () => {
  const host = await openHost();
  host.accept();
  const written = dispatch(host, () => host.clock.advance(60_000)); // it was stopped meanwhile
  await expect.poll(host.isAsked).toBe(true);
  await host.print('hello\n');
  host.end();
  expect(await written).toEqual(['stdout hello\n']);
});

test('streams that nobody has are a problem by name', async () => {
  const { connection } = await openHost();
  for (const asked of [
    { method: 'GET', path: '/v1/attachments/attachment_x/output' },
    { method: 'POST', path: '/v1/attachments/attachment_x/input', body: 'text' },
  ]) {
    const { status, headers, body } = await connection.request(asked);
    const parts: Buffer[] = [];
    for await (const part of body) parts.push(part);
    expect([status, headers.get('content-type')]).toEqual([404, 'application/problem+json']);
    expect(JSON.parse(Buffer.concat(parts).toString())).toMatchObject({
      code: 'ATTACHMENT_GONE',
      status: 404,
    });
  }
});

test('input for a command that reads no more is not waited for', async () => {
  const attachments = createAttachments(createManualClock());
  const { id, attachment } = attachments.open(ASKED);
  const input = attachment.input as PassThrough;
  input.destroy();
  await once(input, 'close');
  await attachments.feed(id, Readable.from(['late']));
  attachments.drop(id);
  await expect(attachments.feed(id, Readable.from([]))).rejects.toThrow(AttachmentGoneError);
});
