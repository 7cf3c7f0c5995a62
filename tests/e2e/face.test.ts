/** A daemon on TCP: who may ask it, for what, and what is recorded of that. */
import { execFile, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { isSameProcess } from '@caisson/ground';
import type { DaemonStatus } from '@caisson/protocol';
import { startModelServer } from '@caisson/testkit';
import { describe, expect, it, onTestFinished } from 'vitest';
import { BIN, createProject, until, type Project } from './project.ts';

interface Face {
  readonly project: Project;
  readonly url: string;
  readonly link: string;
  readonly token: string;
  ask(method: string, path: string, options?: Asking): Promise<Answer>;
}

interface Asking {
  readonly token?: string | null;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
  readonly json: () => Record<string, unknown>;
}

/** Not fetch: that sets `Host` itself. */
async function send(url: string, method: string, path: string, asking: Asking): Promise<Answer> {
  const { token, body, headers = {} } = asking;
  const request = httpRequest(new URL(path, url), {
    method,
    agent: false,
    headers: {
      ...(token == null ? {} : { authorization: `Bearer ${token}` }),
      ...(method === 'GET' ? {} : { 'content-type': 'application/json', 'caisson-client': 'test' }),
      ...headers,
    },
  });
  request.end(body === undefined ? undefined : JSON.stringify(body));
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  let text = '';
  for await (const chunk of response) text += String(chunk);
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    text,
    json: () => JSON.parse(text) as Record<string, unknown>,
  };
}

async function openFace(config = ''): Promise<Face> {
  const project = createProject({ env: { MODEL_KEY: 'scripted-key' }, ...(config === '' ? {} : { config }) });
  const opened = await project.caisson('ui', '--no-open', '-o', 'json');
  onTestFinished(async () => void (await project.caisson('down', '--now')));
  const { url, link } = JSON.parse(opened.stdout) as { url: string; link: string };
  const code = link.slice(link.indexOf('#link=') + 6);
  const signedIn = await send(url, 'POST', '/v1/session', { body: { link: code } });
  const { token } = signedIn.json() as { token: string };
  return {
    project,
    url,
    link,
    token,
    ask: (method, path, asking = {}) => send(url, method, path, { token, ...asking }),
  };
}

interface Stream {
  isOver(): boolean;
}

async function openStream(token: string, url: string): Promise<Stream> {
  const { body } = await fetch(new URL('/v1/events', url), { headers: { authorization: `Bearer ${token}` } });
  let isOver = false;
  new Response(body).text().then(
    () => (isOver = true),
    () => (isOver = true),
  );
  return { isOver: () => isOver };
}

describe('a daemon on TCP', { timeout: 120_000 }, () => {
  it('obeys the order to end although who gave it cannot be recorded: the ledger is locked', async () => {
    const { project, ask } = await openFace();
    const { stdout } = await project.caisson('status', '-o', 'json');
    const { pid, startTime } = JSON.parse(stdout) as DaemonStatus;
    const db = new DatabaseSync(join(project.root, '.caisson/ledger.db'));
    const askedMs = performance.now();
    await ask('GET', '/v1/session');
    const plainMs = performance.now() - askedMs; // of this machine, at this moment
    db.exec('BEGIN IMMEDIATE');
    const startedMs = performance.now();
    const answer = await ask('POST', '/v1/stop', { body: { now: true } }).finally(() => db.close());
    expect(answer.status, answer.text).toBe(202);
    // A second, and what an answer takes; after three a client takes a daemon for silent. An append waits for thirty.
    expect(performance.now() - startedMs).toBeLessThan(3000 + 5 * plainMs);
    await until('it has ended', () => !isSameProcess(pid, startTime));
  });

  it('signs a page in once, keeps no token, and survives a new daemon and a sign-out', async () => {
    const { project, url, link, token, ask } = await openFace();
    const again = await ask('POST', '/v1/session', { token: null, body: { link: link.split('#link=')[1] } });
    expect([again.status, again.json()['code']]).toEqual([401, 'LINK_USED']);
    expect((await ask('GET', '/v1/session')).json()).toMatchObject({ name: 'dashboard' });
    expect((await ask('GET', '/v1/runs')).text).toBe('[]');

    const state = join(project.root, '.caisson');
    const files = readdirSync(state, { recursive: true, withFileTypes: true }).filter((entry) =>
      entry.isFile(),
    );
    const holders = files.filter((entry) =>
      readFileSync(join(entry.parentPath, entry.name)).includes(token.slice(-43)),
    );
    expect(holders).toEqual([]);

    await project.caisson('up', '-d', '--replace');
    const status = JSON.parse((await project.caisson('status', '-o', 'json')).stdout) as { url: string };
    expect(status.url).toBe(url);
    expect((await ask('GET', '/v1/runs')).status).toBe(200);
    const rotated = (await ask('POST', '/v1/session/rotation', { body: {} })).json() as { token: string };
    expect((await ask('GET', '/v1/runs')).status).toBe(401);
    expect((await ask('DELETE', '/v1/session', { token: rotated.token })).status).toBe(200);
    expect((await ask('GET', '/v1/runs', { token: rotated.token })).status).toBe(401);
    await project.caisson('ui', '--stop');
    await expect(ask('GET', '/')).rejects.toThrow('ECONNREFUSED');
    const reopened = await project.caisson('ui', '--no-open', '-o', 'json');
    expect(JSON.parse(reopened.stdout)).toMatchObject({ url }); // the last port
  });

  it('answers no other account of the machine on the loopback address, whatever it shows', async (context) => {
    if (process.getuid?.() !== 0) return context.skip('only root can ask as another account');
    const { url, token, ask } = await openFace();
    const program = `
      const ask = (path, init) => fetch(new URL(path, ${JSON.stringify(url)}), init).then(({ status }) => status, () => 'nothing');
      const headers = { authorization: 'Bearer ' + process.env.STOLEN };
      Promise.all([ask('/v1/session', { headers }), ask('/mcp', { headers }), ask('/')]).then((all) => console.log(all.join(' ')));`;
    const askAs = async (uid: number): Promise<string> => {
      const options = { uid, gid: uid, cwd: '/', env: { STOLEN: token } };
      return (await promisify(execFile)(process.execPath, ['-e', program], options)).stdout.trim();
    };
    expect(await askAs(31_234)).toBe('nothing nothing nothing');
    expect(await askAs(0)).toMatch(/^200 4\d\d 200$/);
    expect((await ask('GET', '/v1/session')).status).toBe(200);
  });

  it('a session of a page ends when a person ends the listening, and when the daemon is stopped', async () => {
    const { project, url, ask } = await openFace();
    const made = await project.caisson('tokens', 'create', '--scope', 'read', '-o', 'json');
    const { token } = JSON.parse(made.stdout) as { token: string };
    const signIn = async (): Promise<string> => {
      const { link } = JSON.parse((await project.caisson('ui', '--no-open', '-o', 'json')).stdout) as Face;
      const answer = await send(url, 'POST', '/v1/session', { body: { link: link.split('#link=')[1] } });
      return String(answer.json()['token']);
    };
    const isOver = async (session: string): Promise<boolean> =>
      (await ask('GET', '/v1/runs', { token: session })).status === 401;
    const first = await signIn();
    expect(await isOver(first)).toBe(false);
    await project.caisson('ui', '--stop');
    const second = await signIn();
    expect([await isOver(first), await isOver(second)]).toEqual([true, false]);
    await project.caisson('down', '--now');
    await signIn();
    expect([await isOver(second), await isOver(token)]).toEqual([true, false]);
  });

  it('gives a page of another origin nothing, whatever it sends', async () => {
    const { url, ask } = await openFace();
    const { host, port } = new URL(url);
    const own = `http://${host}`;
    const cases: [string, string, string, Asking, number][] = [
      ['rebinding', 'GET', '/v1/runs', { headers: { host: `evil.example:${port}` } }, 421],
      ['rebinding of a page', 'GET', '/', { headers: { host: `evil.example:${port}` } }, 421],
      ['no port', 'GET', '/v1/runs', { headers: { host: '127.0.0.1' } }, 421],
      // It is ::1, too, where another account may listen.
      ['localhost', 'GET', '/', { headers: { host: `localhost:${port}` } }, 421],
      ['a page of localhost', 'GET', '/v1/runs', { headers: { origin: `http://localhost:${port}` } }, 403],
      ['another origin', 'GET', '/v1/runs', { headers: { origin: 'http://evil.example' } }, 403],
      ['another port', 'GET', '/v1/runs', { headers: { origin: 'http://127.0.0.1:1' } }, 403],
      ['no origin at all', 'GET', '/v1/runs', { headers: { origin: 'null' } }, 403],
      ['cross-site', 'GET', '/v1/runs', { headers: { 'sec-fetch-site': 'cross-site' } }, 403],
      ['same site', 'GET', '/v1/runs', { headers: { 'sec-fetch-site': 'same-site' } }, 403],
      ['a form', 'POST', '/v1/gc', { body: {}, headers: { 'content-type': 'text/plain' } }, 415],
      ['no header of ours', 'POST', '/v1/gc', { body: {}, headers: { 'caisson-client': '' } }, 403],
      ['preflight', 'OPTIONS', '/v1/runs', { headers: { origin: own } }, 404],
      ['no token', 'GET', '/v1/runs', { token: null }, 401],
      ['the socket alone', 'POST', '/v1/face', { body: {} }, 404],
      ['an attachment', 'GET', '/v1/attachments/x/output', {}, 404],
    ];
    for (const [what, method, path, asking, status] of cases) {
      const answer = await ask(method, path, asking);
      expect([what, answer.status]).toEqual([what, status]);
      expect(answer.headers['access-control-allow-origin']).toBeUndefined();
      expect(answer.headers['content-type']).toContain('application/problem+json');
    }
    expect(
      (await ask('GET', '/v1/runs', { headers: { origin: own, 'sec-fetch-site': 'same-origin' } })).status,
    ).toBe(200);
    const page = await ask('GET', '/runs', { token: null });
    expect([page.status, page.headers['content-security-policy']]).toEqual([
      200,
      expect.stringContaining("default-src 'none'"),
    ]);
    expect(page.text).not.toMatch(/<script(?![^>]*src=)|style=|https?:/);
  });

  it('limits wrong tokens, and lets the right one through', async () => {
    const { ask } = await openFace();
    const statuses: number[] = [];
    for (let count = 0; count < 30; count += 1)
      statuses.push(
        (await ask('GET', '/v1/runs', { token: `cai_${'0'.repeat(16)}_${'A'.repeat(43)}` })).status,
      );
    expect([statuses[0], statuses.at(-1)]).toEqual([401, 429]);
    expect((await ask('GET', '/v1/runs')).status).toBe(200);
  });

  it('a token may do what its scope says, and no more', async () => {
    const { project, ask } = await openFace();
    const make = async (scope: string): Promise<string> => {
      const made = await project.caisson('tokens', 'create', `for-${scope}`, '--scope', scope, '-o', 'json');
      return (JSON.parse(made.stdout) as { token: string }).token;
    };
    const [read, run, decide] = [await make('read'), await make('run'), await make('decide')];
    const plain = { request: { argv: ['true'] } };
    const { runId } = (await ask('POST', '/v1/runs', { token: run, body: plain })).json() as {
      runId: string;
    };
    await project.caisson('logs', '-f', runId);
    const tries: [string, string, string, unknown, number[]][] = [
      ['list', 'GET', '/v1/runs', undefined, [200, 200, 200]],
      ['status', 'GET', '/v1/status', undefined, [200, 200, 200]],
      ['verify', 'POST', `/v1/runs/${runId}/verify`, {}, [200, 200, 200]],
      ['dispatch', 'POST', '/v1/runs', plain, [403, 201, 403]],
      ['no sandbox', 'POST', '/v1/runs', { request: { argv: ['true'], sandbox: 'none' } }, [403, 403, 403]],
      [
        'a file',
        'POST',
        '/v1/runs',
        { request: { argv: ['true'], inputs: { a: '/etc/hosts' } } },
        [403, 403, 403],
      ],
      [
        'a secret',
        'POST',
        '/v1/runs',
        { request: { argv: ['true'], secrets: { A: 'file:/etc/hosts' } } },
        [403, 403, 403],
      ],
      ['apply', 'POST', `/v1/runs/${runId}/apply`, {}, [403, 403, 200]],
      ['apply unchecked', 'POST', `/v1/runs/${runId}/apply`, { allowRisky: true }, [403, 403, 403]],
      ['write a file', 'POST', `/v1/runs/${runId}/export`, { to: '/tmp/x' }, [403, 403, 403]],
      ['forget', 'DELETE', `/v1/runs/${runId}`, undefined, [403, 403, 403]],
      ['stop', 'POST', '/v1/stop', { now: true }, [403, 403, 403]],
      [
        'another token',
        'POST',
        '/v1/tokens',
        { name: 'x', scopes: ['admin'], expiresInMs: null },
        [403, 403, 403],
      ],
    ];
    for (const [what, method, path, body, expected] of tries) {
      const statuses: number[] = [];
      for (const token of [read, run, decide])
        statuses.push((await ask(method, path, { token, body })).status);
      expect([what, ...statuses]).toEqual([what, ...expected]);
    }
    const rotated = await ask('POST', '/v1/session/rotation', { token: run, body: {} });
    expect([rotated.status, rotated.json()['code']]).toEqual([403, 'SCOPE_MISSING']);
    expect((await ask('GET', '/v1/runs', { token: run })).status).toBe(200);
    const own = await ask('POST', '/v1/runs', { body: { ...plain, caller: { cwd: '/', env: {} } } });
    expect([own.status, own.json()['message']]).toEqual([400, 'caller is only for callers on the socket']);

    const listed = JSON.parse((await project.caisson('tokens', 'list', '-o', 'json')).stdout) as {
      id: string;
      name: string;
    }[];
    const { id } = listed.find(({ name }) => name === 'for-read') ?? { id: '' };
    expect((await project.caisson('tokens', 'revoke', id)).code).toBe(0);
    expect((await ask('GET', '/v1/runs', { token: read })).status).toBe(401);
    expect((await project.caisson('tokens', 'revoke', id)).code).toBe(2);
    const create = (): ReturnType<typeof project.caisson> =>
      project.caisson('tokens', 'create', 'bot', '--scope', 'read');
    await create();
    await create();
    const two = await project.caisson('tokens', 'revoke', 'bot');
    expect([two.code, two.stderr]).toEqual([2, expect.stringContaining('2 tokens have the name bot')]);
    const [one = ''] = two.stderr.match(/[0-9a-f]{16}/) ?? [];
    expect((await project.caisson('tokens', 'revoke', one)).code).toBe(0);
    expect((await project.caisson('tokens', 'revoke', 'bot')).code).toBe(0);
    expect((await project.caisson('tokens', 'create', 'x', '--scope', 'all')).stderr).toContain(
      'there is no scope all',
    );
  });

  it('a token for runs continues and retries those of agents, with a conversation that the project has recorded', async () => {
    const model = await startModelServer({ script: [{ when: 'work', turns: [{ say: 'done' }] }] });
    onTestFinished(() => model.stop());
    const native = `native: { endpoint: "${model.url}", apiKey: "env:MODEL_KEY", model: scripted }`;
    const { project, ask } = await openFace(`runtime: native\nruntimes:\n  ${native}\n`);
    const made = await project.caisson('tokens', 'create', '--scope', 'run', '-o', 'json');
    const { token } = JSON.parse(made.stdout) as { token: string };
    const start = async (request: unknown): Promise<{ status: number; runId: string }> => {
      const answer = await ask('POST', '/v1/runs', { token, body: { request } });
      return { status: answer.status, ...(answer.json() as { runId: string }) };
    };
    const { runId } = await start({ task: 'work' });
    await project.caisson('logs', '-f', runId);
    const goOn = async (text: string | null): Promise<Record<string, unknown>> =>
      (await ask('POST', `/v1/runs/${runId}/continuation`, { token, body: { text } })).json();
    const next = await goOn('work on');
    expect(next).toMatchObject({ keepWork: runId, resume: { sessionId: expect.any(String) } });
    for (const request of [next, await goOn(null)]) {
      const started = await start(request);
      expect([started.status, started.runId]).toEqual([201, expect.any(String)]);
    }
    const madeUp = { sessionId: '--add-dir=/' };
    expect((await start({ ...next, resume: madeUp })).status).toBe(403);
    expect((await start({ ...next, continues: undefined })).status).toBe(403);
  });

  it('records who decided, whichever way it came', async () => {
    const { project, ask } = await openFace();
    const start = async (): Promise<string> => {
      const body = { request: { argv: ['sleep', '60'] } };
      return ((await ask('POST', '/v1/runs', { body })).json() as { runId: string }).runId;
    };
    const [runId, second] = [await start(), await start()];
    expect((await ask('POST', `/v1/runs/${runId}/cancel`, { body: {} })).json()).toEqual({
      outcome: expect.any(String),
    });
    expect((await ask('POST', '/v1/reload', { body: {} })).status).toBe(200);
    expect((await ask('POST', '/v1/gc/live', { body: {} })).status).toBe(200);
    expect((await ask('HEAD', '/v1/runs')).status).toBe(200);
    expect((await project.caisson('cancel', second)).code).toBe(0);
    await project.caisson('logs', '-f', runId);
    await project.caisson('logs', '-f', second);
    const actsOf = async (...args: string[]): Promise<Record<string, unknown>[]> =>
      (await project.caisson(...args)).stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Record<string, unknown>)
        .filter(({ type }) => type === 'visitor.acted');
    const { id: token } = (await ask('GET', '/v1/session')).json() as { id: string };
    const dashboard = { by: 'dashboard', token, client: 'test' };
    expect(await actsOf('logs', runId, '-o', 'ndjson')).toEqual([
      expect.objectContaining({ ...dashboard, operation: 'dispatch', target: runId }),
      expect.objectContaining({ ...dashboard, operation: 'cancel', target: runId }),
    ]);
    expect(await actsOf('logs', second, '-o', 'ndjson')).toEqual([
      expect.objectContaining({ ...dashboard, operation: 'dispatch' }),
      expect.objectContaining({ by: userInfo().username, operation: 'cancel' }),
    ]);
    const ofProject = (await actsOf('events')).filter(({ runId: of }) => of == null);
    expect(ofProject).toContainEqual(expect.objectContaining({ ...dashboard, operation: 'reload' }));
    expect(ofProject).toContainEqual(expect.objectContaining({ ...dashboard, operation: 'gcWithProgress' }));
    expect(ofProject).not.toContainEqual(expect.objectContaining({ operation: 'runs' }));
    expect((await project.caisson('verify', runId)).code).toBe(0);
    await project.caisson('down', '--now');
    await project.caisson('apply', runId);
    const last = (await actsOf('logs', runId, '-o', 'ndjson')).at(-1);
    expect(last).toMatchObject({ by: userInfo().username, operation: 'apply' });
  });

  it('streams events with ids, goes on after the last one, and says that it lives', async () => {
    const { project, url, token } = await openFace();
    await project.run('--', 'true');
    const read = async (wanted: number): Promise<string[]> => {
      const gone = new AbortController();
      const response = await fetch(new URL('/v1/events?after=0', url), {
        headers: { authorization: `Bearer ${token}` },
        signal: gone.signal,
      });
      let text = '';
      const decoder = new TextDecoder();
      for await (const chunk of response.body ?? []) {
        text += decoder.decode(chunk as Uint8Array, { stream: true });
        if ((text.match(/^id: /gm) ?? []).length >= wanted) break;
      }
      gone.abort();
      return [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => id ?? '');
    };
    const ids = await read(5);
    const offsets = ids.map(Number);
    expect(offsets).toEqual(offsets.toSorted((a, b) => a - b));
    const gone = new AbortController();
    const response = await fetch(new URL('/v1/events', url), {
      headers: { authorization: `Bearer ${token}`, 'last-event-id': ids[1] ?? '' },
      signal: gone.signal,
    });
    let text = '';
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk as Uint8Array).toString();
      if (/^id: /m.test(text)) break;
    }
    gone.abort();
    expect([text.startsWith(':\n\n'), /^id: (\d+)$/m.exec(text)?.[1]]).toEqual([true, ids[2]]);
  });

  it('an open stream ends when its token is revoked, is signed out or expires', async () => {
    const { project, url, token, ask } = await openFace();
    const make = async (expires: string): Promise<{ id: string; name: string; token: string }> => {
      const order = ['tokens', 'create', '--scope', 'read', '--expires', expires, '-o', 'json'];
      return JSON.parse((await project.caisson(...order)).stdout) as Awaited<ReturnType<typeof make>>;
    };
    const [revoked, short] = [await make('1h'), await make('3s')];
    expect(revoked.name).toBe('read');
    const stays = await openStream((await make('1h')).token, url);
    const streams = await Promise.all([revoked.token, short.token, token].map((one) => openStream(one, url)));
    await project.caisson('tokens', 'revoke', revoked.id);
    await until('the revoked one ends', () => streams[0]?.isOver() ?? false);
    expect(streams[2]?.isOver()).toBe(false);
    await ask('DELETE', '/v1/session');
    await until('all have ended', () => streams.every(({ isOver }) => isOver()));
    expect(stays.isOver()).toBe(false);
  });

  it('strangers that only connect lock nobody out, and hold few descriptors', async () => {
    const { url, token, ask } = await openFace();
    const { port } = new URL(url);
    const streams = await Promise.all(Array.from({ length: 4 }, () => openStream(token, url)));
    let closed = 0;
    const strangers = await Promise.all(
      Array.from({ length: 100 }, async () => {
        const connection = connect(Number(port), '127.0.0.1');
        connection.on('error', () => undefined);
        connection.once('close', () => (closed += 1));
        await once(connection, 'connect');
        return connection;
      }),
    );
    onTestFinished(() => strangers.forEach((connection) => connection.destroy()));
    await until('the oldest are closed', () => closed >= 36);
    expect(closed).toBe(36);
    expect((await ask('GET', '/v1/runs')).status).toBe(200);
    expect(streams.some(({ isOver }) => isOver())).toBe(false);
  });

  it('gives bytes in parts, and not again while they are the same', async () => {
    const { project, ask } = await openFace();
    const { runId } = await project.run('--', 'sh', '-c', 'echo 0123456789; echo new > new.txt');
    const path = `/v1/runs/${runId}/logs/stdout`;
    const whole = await ask('GET', path);
    const { etag = '' } = whole.headers;
    expect(whole.text).toBe('0123456789\n');
    const part = await ask('GET', path, { headers: { range: 'bytes=2-4' } });
    expect([part.status, part.text, part.headers['content-range']]).toEqual([206, '234', 'bytes 2-4/11']);
    expect((await ask('GET', path, { headers: { range: 'bytes=-3' } })).text).toBe('89\n');
    expect((await ask('GET', path, { headers: { range: 'bytes=50-' } })).status).toBe(416);
    expect((await ask('GET', path, { headers: { 'if-none-match': etag } })).status).toBe(304);
    const key = { 'idempotency-key': 'once' };
    const first = await ask('POST', '/v1/runs', { body: { request: { argv: ['true'] } }, headers: key });
    const second = await ask('POST', '/v1/runs', { body: { request: { argv: ['true'] } }, headers: key });
    expect(second.json()).toEqual({ ...first.json(), isEarlier: true });
    const bundle = await ask('GET', `/v1/runs/${runId}/export`);
    expect([bundle.status, bundle.text.length > 1000]).toEqual([200, true]);
    expect((await ask('GET', '/v1/doctor')).json()).toMatchObject({ probes: expect.any(Array) });
  });

  it('is out of reach of a sandbox, and gives nothing to one with the whole network', async () => {
    const { project, url } = await openFace();
    const { host, port } = new URL(url);
    const asks = `printf 'GET %s HTTP/1.1\\r\\nHost: ${host}\\r\\nConnection: close\\r\\n\\r\\n' $1 >&3; head -1 <&3`;
    const look = `ls .caisson/runtime/daemon.sock\nexec 3<>/dev/tcp/127.0.0.1/${port} && ${asks}\n`;
    writeFileSync(join(project.root, 'look.sh'), look);
    project.git('add', '-A');
    project.git('commit', '-qm', 'look');
    const shut = await project.caisson('run', '--network', 'none', '--', 'bash', 'look.sh', '/mcp');
    expect([shut.code, shut.stdout]).toEqual([1, '']);
    for (const path of ['/v1/runs', '/mcp']) {
      const open = await project.caisson('run', '--network', 'full', '--', 'bash', 'look.sh', path);
      expect([path, open.stdout.trim()]).toEqual([path, 'HTTP/1.1 401 Unauthorized']);
    }
  });

  it('the port of another program is refused with a remedy', async () => {
    const { project, url } = await openFace();
    const other = createProject();
    onTestFinished(async () => void (await other.caisson('down', '--now')));
    const taken = await other.caisson('ui', '--no-open', '--port', new URL(url).port);
    expect([taken.code, taken.stderr]).toEqual([1, expect.stringContaining('caisson ui --port N')]);
    const second = await project.caisson('ui', '--no-open', '--port', '1');
    expect([second.code, second.stderr]).toEqual([1, expect.stringContaining('caisson ui --stop')]);
    await until('its link', async () =>
      (await project.caisson('ui', '--no-open')).stdout.includes(`${url}#link=`),
    );
    await project.caisson('ui', '--stop');
    const bare = await project.caisson('ui', '--no-open', '--listen', '0.0.0.0');
    expect([bare.code, bare.stderr]).toEqual([1, expect.stringMatching(/api\.certificate[^]*tunnel/)]);
    const moved = await project.caisson('ui', '--no-open', '-o', 'json', '--listen', '127.0.0.2');
    const { url: elsewhere } = JSON.parse(moved.stdout) as { url: string };
    expect(elsewhere).toMatch(/^http:\/\/127\.0\.0\.2:\d+\/$/);
    expect((await send(elsewhere, 'GET', '/v1/runs', {})).status).toBe(401);

    await project.caisson('ui', '--stop');
    const socketPath = join(project.root, '.caisson/runtime/daemon.sock');
    const order = async (): Promise<string> => {
      const asked = httpRequest({ socketPath, method: 'POST', path: '/v1/face', agent: false });
      asked.end('{}');
      const [response] = (await once(asked, 'response')) as [IncomingMessage];
      return (JSON.parse(String(Buffer.concat(await response.toArray()))) as { url: string }).url;
    };
    const [one, two] = await Promise.all([order(), order()]);
    expect(one).toBe(two);
    await project.caisson('down', '--now');

    // As the version before this one kept it.
    const db = new DatabaseSync(join(project.root, '.caisson/ledger.db'));
    const { port } = new URL(one);
    db.prepare('INSERT OR REPLACE INTO kv VALUES (?, ?, ?)').run('face', 'listen', port);
    db.close();
    await project.caisson('up', '-d');
    const status = JSON.parse((await project.caisson('status', '-o', 'json')).stdout) as { url?: string };
    expect(status.url).toBe(`http://127.0.0.1:${port}/`);
  });

  it('beyond the loopback address there is only HTTPS, under its own names', async () => {
    const project = createProject();
    onTestFinished(async () => void (await project.caisson('down', '--now')));
    const folder = join(project.env['HOME'] ?? '', '.config/caisson');
    mkdirSync(folder, { recursive: true });
    const setApi = (more: string): void =>
      writeFileSync(join(folder, 'config.yaml'), `api:\n  listen: 192.0.2.7:8443\n${more}`);
    for (const more of ['', '  certificate: config.yaml\n  key: config.yaml\n  names: [a.example]\n']) {
      setApi(more);
      const refused = await project.caisson('up', '-d');
      expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('certificate')]);
    }
    const subject = ['-subj', '/CN=dash.example', '-addext', 'subjectAltName=DNS:dash.example,IP:192.0.2.7'];
    const made = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
    const files = ['-keyout', 'key.pem', '-out', 'cert.pem'];
    execFileSync('openssl', ['req', '-x509', ...made, ...files, ...subject], { cwd: folder, stdio: 'pipe' });
    setApi('  certificate: cert.pem\n  key: key.pem\n  names: [dash.example]\n');
    const url = 'https://dash.example:8443';
    const lines = [
      'ip link set lo up; ip addr add 192.0.2.7/32 dev lo',
      `caisson() { '${process.execPath}' '${BIN}' "$@"; }`,
      'caisson up -d >&2; caisson ui --no-open -o json',
      'token=$(caisson tokens create --scope read -o json | sed -n \'s/.*"token": *"\\([^"]*\\)".*/\\1/p\')',
      `ask() { curl -sS -o /dev/null -w '%{http_code}\\n' --cacert '${folder}/cert.pem' --resolve dash.example:8443:192.0.2.7 "$@"; }`,
      `ask ${url}/v1/runs; ask -H "authorization: Bearer $token" ${url}/v1/runs`,
      `ask -H "authorization: Bearer $token" https://192.0.2.7:8443/v1/runs`,
      `ask -H "authorization: Bearer $token" -H 'host: evil.example:8443' ${url}/v1/runs`,
      `ask -H "authorization: Bearer $token" -H 'origin: http://dash.example:8443' ${url}/v1/runs`,
      `ask -H "authorization: Bearer $token" -H 'origin: ${url}' ${url}/v1/runs`,
      'curl -sS http://192.0.2.7:8443/v1/runs 2>/dev/null || echo no plain HTTP',
      `echo broken > '${folder}/cert.pem'; caisson reload 2>&1`,
    ];
    const namespace = process.geteuid?.() === 0 ? ['--net'] : ['--user', '--map-root-user', '--net'];
    const { stdout } = await promisify(execFile)('unshare', [...namespace, 'bash', '-c', lines.join('\n')], {
      cwd: project.root,
      env: project.env,
    });
    const [printed = '', ...answers] = stdout.trim().split(/\n(?=\d{3}\n)|(?<=\d{3})\n/);
    expect(JSON.parse(printed)).toMatchObject({ url: `${url}/` });
    expect(answers).toEqual([
      '401',
      '200',
      '200',
      '421',
      '403',
      '200',
      expect.stringMatching(/^no plain HTTP\nwarning: .* keeps its certificate: .*\nNothing has changed\.$/),
    ]);
    project.write('caisson.yaml', 'api: { listen: "0.0.0.0:8443" }\n');
    expect((await project.caisson('runs')).stderr).toContain('api cannot be set by a project');
    project.write('caisson.yaml', '');
  });
});
