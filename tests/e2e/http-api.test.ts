/** The routes under /v1 as other programs see them: one daemon for all of it. */
import { chmodSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { Validator } from '@seriousme/openapi-schema-validator';
import { startModelServer } from '@caisson/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openProject, type Project } from './open-project.ts';
import { compareAll, curl, type Description } from './described-api.ts';
import { senseOf, workflowOf } from './resident-project.ts';
import { openVisit, type Visit } from './visit.ts';

const CONFIG = `
workflows: { flow: { file: flow.ts } }
senses: { looks: { file: sense.ts, interval: 1h } }
schedules: { nightly: { cron: "0 3 * * *", workflow: flow } }
agents: { fixer: { runtime: command } }
questions: { approvalDeadline: 500ms }
`;
/** Its one call waits for a decision until the deadline. */
const REMOVES = [
  { tool: { intent: 'run-command' as const, command: 'rm -rf README.md ..data' } },
  { say: 'Still here.' },
];

const ends: (() => void)[] = [];
let project: Project;
let visit: Visit;
let runId: string;

beforeAll(async () => {
  const model = await startModelServer({ script: REMOVES });
  ends.push(() => void model.stop());
  const runtimes = `runtimes: { native: { endpoint: "${model.url}", apiKey: env:KEY, model: scripted } }\n`;
  const options = { config: `${runtimes}${CONFIG}`, env: { KEY: 'scripted-key' } };
  project = openProject(options, (end) => void ends.push(end));
  project.write('flow.ts', workflowOf({ only: "log('hello'); return 1;" }));
  project.write('sense.ts', senseOf('state.set("seen", 1);'));
  project.git('add', '-A');
  project.git('commit', '-qm', 'residents');
  visit = await openVisit(project);
  const script = 'echo 0123456789; echo new > new.txt; mkdir outputs; echo report > "outputs/a b.txt"';
  ({ runId } = await project.run('--session', 'team', '--', 'sh', '-c', script));
}, 120_000);

afterAll(async () => {
  await project.caisson('down', '--now');
  for (const end of ends) end();
});

/** How often a visitor asked for it, as it is recorded. */
async function countActs(operation: string): Promise<number> {
  const lines = (await project.caisson('events', '-o', 'ndjson')).stdout.split('\n');
  return lines.filter((line) => line.includes('visitor.acted') && line.includes(`"${operation}"`)).length;
}

/** Sends a body in chunks, without saying how long it is, until the host has answered. */
async function sendChunks(token: string, path: string, megabytes: number): Promise<string> {
  const { hostname, port } = new URL(visit.url);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.on('error', () => undefined); // the host need not read on
  const head = ['caisson-client: test', `authorization: Bearer ${token}`, 'transfer-encoding: chunked'];
  socket.write(
    [`POST ${path} HTTP/1.1`, `host: ${hostname}:${port}`, 'content-type: application/json', ...head].join(
      '\r\n',
    ),
  );
  socket.write('\r\n\r\n');
  const chunk = `100000\r\n${'x'.repeat(1 << 20)}\r\n`;
  for (let sent = 0; sent < megabytes; sent += 1) socket.write(chunk);
  let text = '';
  for await (const part of socket) {
    text += String(part);
    if (text.includes('\r\n\r\n')) break;
  }
  return text.slice(9, 12);
}

describe('the HTTP API', { timeout: 120_000 }, () => {
  it('Last-Event-ID counts, also where the address names another place', async () => {
    const { url, token } = visit;
    const firstId = async (
      path: string,
      headers: Record<string, string> = {},
    ): Promise<string | undefined> => {
      const gone = new AbortController();
      const authorization = `Bearer ${token}`;
      const response = await fetch(new URL(path, url), {
        headers: { authorization, ...headers },
        signal: gone.signal,
      });
      let text = '';
      for await (const part of response.body ?? []) {
        text += Buffer.from(part as Uint8Array).toString();
        if (/^id: \d+$/m.test(text)) break;
      }
      gone.abort();
      return /^id: (\d+)$/m.exec(text)?.[1];
    };
    expect(await firstId('/v1/events?after=0')).toBe('1');
    expect(await firstId('/v1/events?after=0', { 'last-event-id': '3' })).toBe('4');
    const ofRun = `/v1/runs/${runId}/events/live`;
    expect([await firstId(ofRun), await firstId(`${ofRun}?after=1`, { 'last-event-id': '2' })]).toEqual([
      '1',
      '3',
    ]);
  });

  it('a body has a limit also where it does not name its length, and is read once its sender may ask', async () => {
    expect(await sendChunks(visit.token, '/v1/runs', 20)).toBe('413');
    expect(await sendChunks(await visit.createToken('read'), '/v1/runs', 0)).toBe('403');
    const long = await visit.ask('POST', '/v1/runs', { headers: { 'content-length': '17000000' } });
    expect([long.status, long.json()['code']]).toEqual([413, 'BODY_TOO_LONG']);
  });

  it('HEAD is no change and waits for nothing', async () => {
    const visits = async (): Promise<number> =>
      (await project.caisson('events', '-o', 'ndjson')).stdout.split('visitor.acted').length;
    const before = await visits();
    for (const path of [`/v1/runs/${runId}`, '/v1/runs', '/v1/events', `/v1/runs/${runId}/logs/stdout`])
      expect([path, (await visit.ask('HEAD', path)).status]).toEqual([path, 200]);
    expect(await visits()).toBe(before);
  });

  it('is as its OpenAPI description says, which is a valid one', async () => {
    const { url, token, ask } = visit;
    const asking = 'echo \'{"question":"which?"}\' > .caisson/needs_input.json';
    await project.run('--', 'sh', '-c', asking);
    await project.run('clean up', '--runtime', 'native', '--mode', 'full-auto');
    await ask('POST', '/v1/sessions/team/board', { body: { key: 'described', value: null } });
    const started = await ask('POST', '/v1/workflows/flow/threads', { body: {} });
    expect(started.json()).toEqual({ threadId: expect.any(String) as string });
    const text = (await curl(new URL('/v1/openapi.json', url).href, token)).text;
    expect(await new Validator().validate(text)).toMatchObject({ valid: true });
    const tokens = { read: await visit.createToken('read'), admin: token };
    expect(await compareAll(JSON.parse(text) as Description, url, tokens)).toEqual([]);
  });

  it('gives files of a run in parts, and nothing again that its reader has', async () => {
    const { ask } = visit;
    const listed = (await ask('GET', `/v1/runs/${runId}/outputs`)).json<{ path: string; ref: string }[]>();
    expect(listed).toEqual([{ path: 'a b.txt', ref: expect.any(String) as string, size: 7 }]);
    const path = `/v1/runs/${runId}/outputs/a%20b.txt`;
    const whole = await ask('GET', path);
    const etag = `"${listed[0]?.ref}"`;
    expect([whole.text, whole.headers.etag, whole.headers['content-length']]).toEqual([
      'report\n',
      etag,
      '7',
    ]);
    const part = await ask('GET', path, { headers: { range: 'bytes=1-3' } });
    expect([part.status, part.text, part.headers['content-range']]).toEqual([206, 'epo', 'bytes 1-3/7']);
    expect((await ask('GET', path, { headers: { range: 'bytes=7-' } })).status).toBe(416);
    expect((await ask('GET', `/v1/runs/${runId}/outputs/..%2F..%2Fsecret`)).json()).toMatchObject({
      status: 404,
      code: 'UNKNOWN_NAME',
    });
    const again = [path, `/v1/runs/${runId}`, `/v1/runs/${runId}/patch`, `/v1/runs/${runId}/logs/stdout`];
    for (const one of [...again, `/v1/runs/${runId}/export`, '/v1/registry/agents/fixer']) {
      const first = await ask('GET', one);
      const known = { 'if-none-match': first.headers.etag ?? '' };
      const second = await ask('GET', one, { headers: known });
      expect([one, first.status, second.status, second.text]).toEqual([one, 200, 304, '']);
      expect((await ask('HEAD', one)).headers.etag).toBe(first.headers.etag);
    }
  });

  it('a damaged file is cut off before its last bytes, also where only its beginning is asked for', async () => {
    const script =
      'yes of this run | head -c 100000; mkdir outputs; yes caisson | head -c 300000 > outputs/big';
    const { runId: other, result } = await project.run('--', 'sh', '-c', script);
    const fileOf = (ref = ''): string =>
      join(
        project.root,
        globSync(`.caisson/**/${ref}*`, { cwd: project.root })[0] ??
          globSync(`.caisson/**/${ref.slice(2)}*`, { cwd: project.root })[0] ??
          '',
      );
    const path = fileOf(result?.outputs[0]?.ref);
    // Nobody reads it to give a file. It is large enough to be a file of its own.
    rmSync(fileOf(result?.logs.stdout.ref));
    expect((await visit.ask('GET', `/v1/runs/${other}/outputs/big`)).bytes).toHaveLength(300_000);
    chmodSync(path, 0o600);
    const bytes = readFileSync(path);
    bytes[bytes.length - 5] = (bytes[bytes.length - 5] ?? 0) ^ 1;
    writeFileSync(path, bytes);
    for (const headers of [{}, { range: 'bytes=0-99' }] as Record<string, string>[])
      await expect(visit.ask('GET', `/v1/runs/${other}/outputs/big`, { headers })).rejects.toThrow();
  });

  it('what a session shares can be read and written', async () => {
    const { ask } = visit;
    const written = await ask('POST', '/v1/sessions/shared/board', { body: { key: 'port', value: 8080 } });
    expect(written.json()).toMatchObject({ namespace: 'default', key: 'port', items: [{ value: 8080 }] });
    expect((await ask('GET', '/v1/sessions/shared/board')).json()).toMatchObject([{ key: 'port' }]);
    await ask('POST', '/v1/sessions/shared/findings', { body: { key: 'cause', value: 'a typo' } });
    expect((await ask('GET', '/v1/sessions/shared/findings')).json()).toMatchObject([{ value: 'a typo' }]);
    expect((await ask('GET', '/v1/sessions')).json()).toContainEqual(
      expect.objectContaining({ name: 'shared', boardKeys: 1, findings: 1 }),
    );
    const removed = await ask('DELETE', '/v1/sessions/shared/board/default/port');
    expect([removed.json(), (await ask('GET', '/v1/sessions/..%2Fx/board')).status]).toEqual([
      { isRemoved: true },
      409,
    ]);
  });

  it('a repeat with its key does nothing again, and every token has its own keys', async () => {
    const { ask } = visit;
    const headers = { 'idempotency-key': 'once' };
    const before = { findings: await countActs('reportFinding'), runs: await countActs('dispatch') };
    const report = (value: string, token = visit.token) =>
      ask('POST', '/v1/sessions/keys/findings', { body: { key: 'k', value }, headers, token });
    const first = await report('one');
    const second = await report('one');
    expect([second.json(), second.headers['idempotency-replayed']]).toEqual([first.json(), 'true']);
    expect((await report('two')).json()).toMatchObject({ status: 409, code: 'IDEMPOTENCY_KEY_TAKEN' });
    const other = await visit.createToken('run');
    expect((await report('two', other)).status).toBe(200);
    const findings = (await ask('GET', '/v1/sessions/keys/findings')).json<{ value: string }[]>();
    expect(findings.map(({ value }) => value)).toEqual(['one', 'two']);
    expect(await countActs('reportFinding')).toBe(before.findings + 2);
    const dispatch = (token: string) =>
      ask('POST', '/v1/runs', { body: { request: { argv: ['true'] } }, headers, token });
    const runs = [await dispatch(visit.token), await dispatch(visit.token), await dispatch(other)];
    const ids = runs.map((one) => one.json()['runId']);
    expect([ids[0] === ids[1], ids[0] === ids[2], runs[1]?.json()['isEarlier']]).toEqual([true, false, true]);
    expect(await countActs('dispatch')).toBe(before.runs + 4); // of each run: ordered, and started
    const asking = 'echo \'{"question":"which?"}\' > .caisson/needs_input.json';
    const { runId: asked } = await project.run('--', 'sh', '-c', asking);
    const say = () =>
      ask('POST', `/v1/questions/${asked}/answer`, {
        body: { answer: '1' },
        headers: { 'idempotency-key': 'say' },
      });
    const said = await say();
    expect((await say()).json()).toEqual(said.json());
    expect((await project.events(asked)).filter(({ type }) => type === 'visitor.acted')).toHaveLength(1);
    const next = await project.events(said.json<{ runId: string }>().runId);
    expect(next.filter(({ type }) => type === 'visitor.acted')).toMatchObject([{ operation: 'dispatch' }]);
    const create = {
      body: { name: 'x', scopes: ['read'], expiresInMs: 1000 },
      headers: { 'idempotency-key': 't' },
    };
    expect((await ask('POST', '/v1/tokens', create)).status).toBe(200);
    expect((await ask('POST', '/v1/tokens', create)).json()).toMatchObject({
      code: 'IDEMPOTENCY_ANSWER_GONE',
    });
  });
});
