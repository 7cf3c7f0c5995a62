/** Another process has the ledger locked for some seconds: a daemon goes on answering meanwhile, and what waits is done after it. */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { DaemonStatus } from '@caisson/protocol';
import { expect, it, onTestFinished } from 'vitest';
import { createProject, finish, until } from './project.ts';
import { openVisit } from './visit.ts';

const LOCKED_MS = 6000;
const FREE_MS = 2000;
/** A client takes a daemon for silent after three seconds; what it takes without a lock, on this machine now, comes to that. */
const MOST_MS = 3000;

it('a daemon whose ledger is locked answers, shows what happens, and takes an order that waits for the lock', async () => {
  const project = createProject({ env: { CAISSON_HEARTBEAT_MS: '200' } });
  const up = await project.caisson('up', '-d', '-o', 'json');
  const { pid, hostId } = JSON.parse(up.stdout) as DaemonStatus;
  onTestFinished(() => void process.kill(pid, 'SIGKILL'));
  const start = async (seconds: number): Promise<string> =>
    (await project.caisson('run', '--detach', '--', 'sleep', `${seconds}`)).stdout.trim();
  const [long, short] = [await start(300), await start(6)];
  const follower = project.start('logs', long, '-f', '-o', 'ndjson');
  const followed = finish(follower);
  let text = '';
  follower.stdout?.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const countBeats = (): number => text.split('"worker.heartbeat"').length - 1;
  await until('both are at work', async () => {
    const { stdout } = await project.caisson('logs', short, '-o', 'ndjson');
    return countBeats() > 0 && stdout.includes('"dispatch.started"');
  });

  const answers: string[] = [];
  const watch = async (forMs: number): Promise<{ status: number; withoutBeat: number }> => {
    const endMs = performance.now() + forMs;
    const longestMs = { status: 0, withoutBeat: 0 };
    for (
      let beats = countBeats(), beatMs = performance.now();
      performance.now() < endMs;
      beats = countBeats()
    ) {
      const startMs = performance.now();
      const { code, stderr } = await project.caisson('status');
      answers.push(`${code}${stderr}`);
      longestMs.status = Math.max(longestMs.status, performance.now() - startMs);
      longestMs.withoutBeat = Math.max(longestMs.withoutBeat, performance.now() - beatMs);
      if (countBeats() > beats) beatMs = performance.now();
    }
    return longestMs;
  };
  const free = await watch(FREE_MS);
  const db = new DatabaseSync(join(project.root, '.caisson/ledger.db'));
  onTestFinished(() => db.close());
  db.exec('BEGIN IMMEDIATE');
  const ordered = finish(project.start('run', '-o', 'json', '--', 'true')); // and the short one ends: both wait for the lock
  const locked = await watch(LOCKED_MS);
  db.exec('ROLLBACK');
  expect(new Set(answers)).toEqual(new Set(['0']));
  expect(locked.status).toBeLessThan(MOST_MS + free.status);
  expect(locked.withoutBeat).toBeLessThan(MOST_MS + free.withoutBeat);
  const { code, stdout } = await ordered;
  const { status, runId } = JSON.parse(stdout) as { status: string; runId: string };
  expect([code, status]).toEqual([0, 'done']);
  const hosts = [long, short, runId].map((run) => hostOf(db, run));
  expect(hosts).toEqual(Array.from({ length: 3 }, () => hostId)); // none of them had a host of its own
  await project.caisson('cancel', long);
  await followed;
}, 120_000);

it('a request with a key, a token and its end wait for the lock, and the daemon answers others meanwhile', async () => {
  const project = createProject();
  const { pid } = JSON.parse((await project.caisson('up', '-d', '-o', 'json')).stdout) as DaemonStatus;
  onTestFinished(() => void process.kill(pid, 'SIGKILL'));
  const visit = await openVisit(project);
  const old = await visit.createToken('read');
  const look = async (): Promise<number> => {
    const startMs = performance.now();
    expect((await visit.ask('GET', '/v1/runs')).status).toBe(200);
    return performance.now() - startMs;
  };
  const freeMs = Math.max(await look(), await look());
  const db = new DatabaseSync(join(project.root, '.caisson/ledger.db'));
  onTestFinished(() => db.close());
  db.exec('BEGIN IMMEDIATE');
  const orders = Array.from({ length: 3 }, (_, index) =>
    visit.ask('POST', '/v1/tokens', {
      body: { name: `t${index}`, scopes: ['read'], expiresInMs: 60_000 },
      headers: { 'idempotency-key': `k${index}` },
    }),
  );
  const ended = visit.ask('DELETE', `/v1/tokens/${old.split('_')[1]}`);
  let longestMs = 0;
  for (const endMs = performance.now() + LOCKED_MS; performance.now() < endMs;)
    longestMs = Math.max(longestMs, await look());
  db.exec('ROLLBACK');
  const answers = await Promise.all([...orders, ended]);
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect(longestMs).toBeLessThan(MOST_MS + freeMs);
  const repeated = await visit.ask('POST', '/v1/tokens', {
    body: { name: 't0', scopes: ['read'], expiresInMs: 60_000 },
    headers: { 'idempotency-key': 'k0' },
  });
  expect(repeated.json()).toMatchObject({ code: 'IDEMPOTENCY_ANSWER_GONE' });
}, 120_000);

function hostOf(db: DatabaseSync, run: string): unknown {
  return db.prepare("SELECT row ->> '$.host' AS host FROM runs WHERE run = ?").get(run)?.['host'];
}
