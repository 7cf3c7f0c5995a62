/** The routes under /v1 as a foreign program sees them: one daemon for all of it. */
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openProject, type Project } from './open-project.ts';
import { openVisit, type Visit } from './visit.ts';

const ends: (() => void)[] = [];
let project: Project;
let visit: Visit;
let runId: string;

beforeAll(async () => {
  project = openProject({}, (end) => void ends.push(end));
  visit = await openVisit(project);
  const script = 'echo 0123456789; echo new > new.txt; mkdir outputs; echo report > "outputs/a b.txt"';
  ({ runId } = await project.run('--session', 'team', '--', 'sh', '-c', script));
}, 120_000);

afterAll(async () => {
  await project.caisson('down', '--now');
  for (const end of ends) end();
});

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
});
