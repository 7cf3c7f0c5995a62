// The way out as an agent sees it: relay inside, broker outside, and nothing else.
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { systemClock } from '@caisson/ground';
import { startModelServer, type ModelServer } from '@caisson/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  openNetwork,
  type ConnectionRecord,
  type OpenNetwork,
} from '../../packages/worker/src/network/index.ts';
import { createCell, removeCell, runInside, type Cell } from './run-inside.ts';

const WORKER = join(import.meta.dirname, '../../packages/worker');
const RELAY = join(WORKER, 'src/inside/inside.pl');
/** New each time: sources of this repository, which may be in a searched folder, have none like it. */
const KEY = `sk-ant-real-${randomBytes(11).toString('hex')}`;
const PORT = 8118;

/** What the processes of this sandbox show of themselves, and every file in the folders that are its own. */
const SEARCH = `
const fs = require('node:fs');
const needle = Buffer.from(process.argv[1].split(',').reverse().join(''));
const hits = [];
const look = (name) => { try { if (fs.readFileSync(name).includes(needle)) hits.push(name); } catch { /* not ours to read: then the key cannot be found there either */ } };
for (const pid of fs.readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name))) {
  for (const part of ['environ', 'cmdline', 'maps', 'mountinfo']) {
    look('/proc/' + pid + '/' + part);
  }
}
const walk = (folder) => {
  for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
    const path = folder + '/' + entry.name;
    if (entry.isDirectory()) walk(path);
    else if (entry.isFile()) look(path);
  }
};
for (const folder of ['/home', '/tmp', '/run', process.cwd()]) walk(folder);
console.log(JSON.stringify({ hits, processes: fs.readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name)).length }));
`;

describe('the broker from inside the sandbox', () => {
  let cell: Cell;
  let model: ModelServer;
  let network: OpenNetwork;
  const records: ConnectionRecord[] = [];

  beforeAll(async () => {
    cell = createCell();
    model = await startModelServer({ script: [{ turns: [{ say: 'from the model' }] }], apiKey: KEY });
    network = await openNetwork(
      { clock: systemClock },
      {
        socket: join(cell.root, 'net.sock'),
        hosts: [`127.0.0.1:${model.port}`],
        model: { endpoint: model.url, api: 'anthropic-messages', apiKey: KEY },
        services: [],
        onLoopback: false,
        onConnection: (record) => records.push(record),
      },
    );
  });
  afterAll(async () => {
    await network.close();
    await model.stop();
    removeCell(cell);
  });

  /** Runs a command as the worker does: the relay first, which becomes the command. */
  async function inside(...argv: string[]): Promise<{ stdout: string; code: number | null }> {
    const relay = ['/usr/bin/perl', RELAY, 'relay', String(PORT), '/run/caisson/net.sock', '--'];
    const { stdout, stderr, code } = await runInside(cell, [...relay, ...argv], {
      binds: [
        { source: network.socket, target: '/run/caisson/net.sock', writable: true },
        ...[dirname(process.execPath), WORKER].map((path) => ({
          source: path,
          target: path,
          writable: false,
        })),
      ],
      env: { ...cell.spec.env, API_KEY: network.model?.placeholder ?? '' },
    });
    expect(stderr).toBe('');
    return { stdout, code };
  }

  it('the model answers to the placeholder, by curl and by fetch', async () => {
    const url = `http://127.0.0.1:${PORT}${network.model?.pathPrefix ?? ''}/v1/messages`;
    const body = JSON.stringify({ model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] });
    const byCurl = await inside(
      'sh',
      '-c',
      `curl -sS -H "x-api-key: $API_KEY" -H 'content-type: application/json' -d '${body}' '${url}'`,
    );
    const byFetch = await inside(
      process.execPath,
      '-e',
      `fetch('${url}', { method: 'POST', headers: { 'x-api-key': process.env.API_KEY }, body: '${body}' }).then((r) => r.text()).then(console.log)`,
    );
    expect([byCurl.stdout, byFetch.stdout]).toEqual([
      expect.stringContaining('from the model'),
      expect.stringContaining('from the model'),
    ]);
    expect(model.modelRequests().map(({ headers }) => headers['x-api-key'])).toEqual([KEY, KEY]);
    expect(records.splice(0).map(({ via, verdict }) => [via, verdict])).toEqual([
      ['broker', 'allowed'],
      ['broker', 'allowed'],
    ]);
  });

  it('the real key is in no environment, command line or file inside', async () => {
    // Handed over in pieces and in reverse, so that the search does not find itself.
    const pieces = [KEY.slice(0, 9), KEY.slice(9, 20), KEY.slice(20)].toReversed().join(',');
    const { stdout } = await inside(process.execPath, '-e', SEARCH, pieces);
    const found = JSON.parse(stdout) as { hits: string[]; processes: number };
    expect(found.hits).toEqual([]);
    expect(found.processes).toBeGreaterThanOrEqual(3);
  });

  it('the model server of the host is there through the proxy only, because its address was granted', async () => {
    const direct = await inside(
      'sh',
      '-c',
      `curl -sS -m 5 --noproxy '*' ${model.url}/x 2>/dev/null; echo "exit $?"`,
    );
    expect(direct.stdout).toBe('exit 7\n');
    const tunnelled = await inside(
      'curl',
      '-sS',
      '-o',
      '/dev/null',
      '-w',
      '%{http_code}',
      '--noproxy',
      '',
      '-p',
      '-x',
      `http://127.0.0.1:${PORT}`,
      `${model.url}/x`,
    );
    expect(tunnelled.stdout).toBe('404');
    await expect.poll(() => records).toHaveLength(1); // a tunnel is recorded when it closes
    expect(records.splice(0)).toMatchObject([
      { via: 'connect', target: `127.0.0.1:${model.port}`, verdict: 'allowed' },
    ]);
  });

  it('a host that is not granted is refused with the rule, and recorded', async () => {
    const plain = await inside(
      'curl',
      '-sS',
      '-w',
      ' %{http_code}',
      '-x',
      `http://127.0.0.1:${PORT}`,
      'http://elsewhere.example/',
    );
    expect(plain.stdout).toContain('elsewhere.example:80 is not among the hosts granted to this run');
    expect(plain.stdout).toContain('network.hosts');
    expect(plain.stdout).toMatch(/ 403$/);
    const tunnel = await inside(
      'sh',
      '-c',
      `curl -sS -o /dev/null -w '%{http_connect}' -x http://127.0.0.1:${PORT} https://elsewhere.example/ 2>/dev/null; true`,
    );
    expect(tunnel.stdout).toBe('403');
    expect(records.splice(0).map(({ via, target, verdict }) => [via, target, verdict])).toEqual([
      ['http', 'elsewhere.example:80', 'denied'],
      ['connect', 'elsewhere.example:443', 'denied'],
    ]);
  });

  it('there is no name resolution inside', async () => {
    const { stdout } = await inside('sh', '-c', 'getent hosts example.com; echo "exit $?"');
    expect(stdout).toBe('exit 2\n');
  });

  it('the relay leaves no process behind', () => {
    const left = readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .filter((pid) => commandOf(pid).includes(`${RELAY}\0relay\0${PORT}\0`)); // not those of other runs here
    expect(left).toEqual([]);
  });
});

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return ''; // it ended while we looked
  }
}
