import { spawn } from 'node:child_process';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { DispatchResult } from '@caisson/protocol';
import { createProject, ROOT, until, type Project } from './project.ts';

const KEY = 'a key that only both sides know';

interface Received {
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A server that answers as configured and records its requests. */
async function listen(
  answer: (received: Received, respond: (status: number, headers?: Record<string, string>) => void) => void,
  port = 0,
): Promise<{ url: string; received: Received[]; server: Server }> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const item = {
        url: request.url ?? '',
        headers: request.headers,
        body: Buffer.concat(chunks).toString('utf8'),
      };
      received.push(item);
      answer(item, (status, headers) => response.writeHead(status, headers).end('ok'));
    });
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, received, server };
}

const configFor = (url: string, more = ''): string =>
  `callbacks: [{ url: "${url}?token=hidden", key: "env:HOOK_KEY"${more} }]\n`;

async function show(project: Project, runId: string): Promise<DispatchResult> {
  return JSON.parse((await project.caisson('show', runId, '-o', 'json')).stdout) as DispatchResult;
}

/** The example receiver as a program, as a user would run it. */
async function startReceiver(port = 0): Promise<{ url: string; events: () => Record<string, unknown>[] }> {
  const child = spawn(process.execPath, [join(ROOT, 'examples/callback-receiver.mjs')], {
    env: { CALLBACK_KEY: KEY, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString('utf8')));
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString('utf8')));
  const url = await until('the receiver listens', () => /listening on (\S+)/.exec(err)?.[1]);
  return {
    url: `${url}/hook`,
    events: () =>
      out
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Record<string, unknown>),
  };
}

it('the example receiver takes signed events and each of them once', async () => {
  const receiver = await startReceiver();
  const project = createProject({
    config: configFor(receiver.url, ', when: [dispatch.accepted, dispatch.started, dispatch.finished]'),
    env: { HOOK_KEY: KEY },
  });
  const run = await project.run('--', 'true');
  expect(run.cli.code).toBe(0);
  expect(
    receiver
      .events()
      .map((event) => String(event['type']))
      .toSorted(),
  ).toEqual(['dispatch.accepted', 'dispatch.finished', 'dispatch.started']);
  expect(receiver.events().every((event) => event['runId'] === run.runId)).toBe(true);
  const { callbacks } = await show(project, run.runId);
  expect(callbacks?.map(({ status }) => status)).toEqual(['delivered', 'delivered', 'delivered']);
  const delivered = (await project.events(run.runId)).filter((event) => event.type === 'callback.delivered');
  expect(delivered[0]).toMatchObject({ url: receiver.url, status: 204, tries: 1 });
  expect(JSON.stringify(delivered)).not.toContain('hidden');
  expect((await project.caisson('verify', run.runId)).code).toBe(0);
});

it('a callback carries the question of a run that asks', async () => {
  const receiver = await startReceiver();
  const project = createProject({
    config: configFor(receiver.url, ', when: [question.asked, dispatch.needs_input]'),
    env: { HOOK_KEY: KEY },
  });
  const question = '{ "question": "Which one?", "options": ["a", "b"] }';
  const run = await project.run('--', 'sh', '-c', `echo '${question}' > .caisson/needs_input.json`);
  expect(run.cli.code).toBe(3);
  const events = receiver.events();
  expect(events.map((event) => String(event['type'])).toSorted()).toEqual([
    'dispatch.needs_input',
    'question.asked',
  ]);
  const asked = events.find((event) => event['type'] === 'question.asked');
  expect(asked).toMatchObject({ runId: run.runId, text: 'Which one?', options: ['a', 'b'] });
  expect(events.every((event) => event['questionId'] === asked?.['questionId'])).toBe(true);
  const { callbacks } = await show(project, run.runId);
  expect(callbacks?.map(({ status }) => status)).toEqual(['delivered', 'delivered']);
});

it('a delivery says whose it is, when, and proves it; a replay is not believed', async () => {
  const receiver = await listen((_received, respond) => respond(200));
  const project = createProject({
    config: configFor(receiver.url, ', authorization: "env:HOOK_TOKEN"'),
    env: { HOOK_KEY: KEY, HOOK_TOKEN: 'bearer-token-123' },
  });
  const run = await project.run('--', 'true');
  const [received, ...others] = receiver.received;
  expect(others).toEqual([]);
  expect(received?.url).toBe('/hook?token=hidden');
  expect(received?.headers).toMatchObject({
    'content-type': 'application/json',
    'x-caisson-run': run.runId,
    'x-caisson-event': 'dispatch.finished',
    authorization: 'Bearer bearer-token-123',
  });
  const example = (await import(join(ROOT, 'examples/callback-receiver.mjs'))) as {
    check(delivery: object): string | null;
  };
  const seen = new Map<string, number>();
  const nowS = Date.now() / 1000;
  const delivery = {
    headers: received?.headers ?? {},
    body: Buffer.from(received?.body ?? ''),
    key: KEY,
    nowS,
    seen,
  };
  expect(example.check(delivery)).toBeNull();
  expect(example.check(delivery)).toBe('it was taken before');
  expect(example.check({ ...delivery, seen: new Map(), nowS: nowS + 301 })).toBe(
    'it is older than five minutes',
  );
  expect(example.check({ ...delivery, seen: new Map(), key: 'another' })).toBe('the signature is wrong');
  expect(example.check({ ...delivery, seen: new Map(), body: Buffer.from('{}') })).toBe(
    'the signature is wrong',
  );
  const aged = { ...received?.headers, 'x-caisson-timestamp': String(Math.floor(nowS) + 1) };
  expect(example.check({ ...delivery, seen: new Map(), headers: aged })).toBe('the signature is wrong');
  const files = await project.caisson('logs', run.runId, '-o', 'ndjson');
  expect(files.stdout).not.toContain('bearer-token-123');
});

it('a receiver that is down does not touch the run, is visible, and is informed by a later host', async () => {
  const { url, server } = await listen((_received, respond) => respond(200));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  const project = createProject({ config: configFor(url), env: { HOOK_KEY: KEY } });
  const run = await project.run('--', 'true');
  expect(run).toMatchObject({ status: 'done', cli: { code: 0 } });
  expect((await show(project, run.runId)).callbacks).toMatchObject([
    { url, event: 'dispatch.finished', status: 'pending', detail: 'ECONNREFUSED' },
  ]);
  expect((await project.caisson('show', run.runId)).stdout).toContain(
    `UNDELIVERED  dispatch.finished to ${url}`,
  );
  const receiver = await startReceiver(port);
  await until('a later host sends it', async () => {
    await project.run('--', 'true');
    return receiver.events().some((event) => event['runId'] === run.runId);
  });
  expect((await show(project, run.runId)).callbacks).toMatchObject([{ status: 'delivered' }]);
});

it('a slow receiver delays no run for long', async () => {
  const receiver = await listen(() => undefined); // it never answers
  const timed = async (project: ReturnType<typeof createProject>) => {
    const startedMs = performance.now();
    const run = await project.run('--', 'true');
    expect(run.cli.code).toBe(0);
    return { run, tookMs: performance.now() - startedMs };
  };
  const without = await timed(createProject({}));
  const project = createProject({ config: configFor(receiver.url), env: { HOOK_KEY: KEY } });
  const { run, tookMs } = await timed(project);
  expect(tookMs - without.tookMs).toBeLessThan(5000); // one attempt to deliver would wait for so long
  expect((await show(project, run.runId)).callbacks).toMatchObject([{ status: 'pending' }]);
});

it('a receiver that fails with 500 is tried again; a redirect is not followed', async () => {
  const target = await listen((_received, respond) => respond(200));
  const failing = await listen((_received, respond) => respond(failing.received.length === 1 ? 500 : 200));
  const moved = await listen((_received, respond) => respond(307, { location: target.url }));
  const project = createProject({ config: configFor(failing.url), env: { HOOK_KEY: KEY } });
  const run = await project.run('--callback', moved.url, '--', 'true');
  expect(run.cli.code).toBe(0);
  const { callbacks = [] } = await show(project, run.runId);
  expect(callbacks.find(({ url }) => url === moved.url)).toMatchObject({
    status: 'failed',
    tries: 1,
    detail: 'answered 307, and redirects are not followed',
  });
  expect(callbacks.find(({ url }) => url === failing.url)).toMatchObject({ status: 'delivered', tries: 2 });
  expect(target.received).toEqual([]);
  expect(moved.received).toHaveLength(1);
  expect(moved.received[0]?.headers['x-caisson-signature']).toBeUndefined();
  const failed = (await project.events(run.runId)).find((event) => event.type === 'callback.failed');
  expect(failed).toMatchObject({ url: moved.url, event: 'dispatch.finished', tries: 1 });
});

it('a key that cannot be found ends the run before its worker, in step 4', async () => {
  const receiver = await listen((_received, respond) => respond(200));
  const project = createProject({ config: configFor(receiver.url) });
  const run = await project.run('--retries', '0', '--', 'true');
  expect(run).toMatchObject({ status: 'error', failure: { reason: 'fetch-failed', step: 4 } });
  expect(run.failure?.detail).toContain('HOOK_KEY');
  expect(receiver.received).toEqual([]);
});

it('an address without HTTP is refused', async () => {
  const project = createProject();
  const refused = await project.caisson('run', '--callback', 'ftp://example.invalid/x', '--', 'true');
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain('must be an http(s) URL');
});
