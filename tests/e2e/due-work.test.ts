/** What a daemon does by itself. Nothing here calls a command that would do it: the ledger is read directly. */
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { DaemonStatus } from '@caisson/protocol';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openLedger, type Ledger } from '../../packages/engine/src/ledger/index.ts';
import { S3_CREDENTIALS, startS3Server } from '../../packages/engine/src/store/fixtures/s3-server.ts';
import { createProject, makeState, pidsWith, until, type Project } from './project.ts';

async function serve(project: Project): Promise<void> {
  const { stdout, stderr } = await project.caisson('up', '-d', '-o', 'json');
  if (stdout === '') throw new Error(stderr);
  const { pid } = JSON.parse(stdout) as DaemonStatus;
  onTestFinished(() => void process.kill(pid, 'SIGKILL'));
}

function read({ root }: Project): Ledger {
  const ledger = openLedger(join(root, '.caisson/ledger.db'));
  onTestFinished(() => ledger.close());
  return ledger;
}

/** Leaves its first visitor without an answer, and takes everything from later ones. */
async function listen(): Promise<{ url: string; asked: readonly string[] }> {
  const asked: string[] = [];
  const answer = (response: ServerResponse): void => void response.writeHead(204).end();
  const server = createServer((request, response) => {
    asked.push(String(request.headers['x-caisson-run']));
    request.resume().on('end', () => asked.length > 1 && answer(response));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, asked };
}

describe('a daemon', { timeout: 90_000 }, () => {
  it('expires a question whose deadline has passed', async () => {
    const project = createProject({ config: 'questions: { deadline: 1s }\n' });
    await serve(project);
    const asking = `printf '{"question":"Which?"}' > .caisson/needs_input.json`;
    const { runId } = await project.run('--', 'sh', '-c', asking);
    const ledger = read(project);
    expect(ledger.questions({ runId })).toMatchObject([{ text: 'Which?' }]);
    await until('it has expired', () => ledger.questions({ runId })[0]?.status === 'expired', 30_000);
  });

  it('settles the run of a host that died', async () => {
    const project = createProject();
    await serve(project);
    const mark = `sleep 3${process.hrtime.bigint()}`;
    const line = ['--no-daemon', '--detach', '--', 'sh', '-c', mark];
    const runId = (await project.caisson('run', ...line)).stdout.trim();
    await until('it runs', () => pidsWith(mark).length > 0);
    const [host = 0] = pidsWith(`host ${runId}`);
    process.kill(host, 'SIGKILL');
    const ledger = read(project);
    await until('it has ended', () => ledger.run(runId)?.ending !== undefined, 30_000);
    expect(ledger.run(runId)).toMatchObject({ status: 'interrupted', failure: { reason: 'lost' } });
    expect(pidsWith(mark)).toEqual([]);
  });

  it('cleans up when it starts, without a run', async () => {
    const project = createProject();
    const hosts = join(makeState(project), 'runtime/hosts');
    mkdirSync(hosts, { recursive: true });
    const left = join(hosts, 'host_00000000000000000001.sock');
    writeFileSync(left, '');
    utimesSync(left, 0, 0);
    await serve(project);
    await until('it is removed', () => !existsSync(left), 30_000);
  });

  // One test, because each of the two is due a minute after the daemon has started.
  it('sends what a dead host still had to send: its callback, and its blobs to the bucket', async () => {
    const bucket = await startS3Server('blobs-of-ours');
    onTestFinished(bucket.stop);
    const { url, asked } = await listen();
    const { accessKeyId, secretAccessKey } = S3_CREDENTIALS;
    const project = createProject({
      config: [
        `store: { s3: { bucket: blobs-of-ours, endpoint: "${bucket.endpoint}" } }`,
        `callbacks: [{ url: "${url}" }]`,
      ].join('\n'),
      env: { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey },
    });
    await serve(project);
    await bucket.down();
    const host = project.start('run', '--no-daemon', '--', 'sh', '-c', 'echo x > new.txt');
    const died = once(host, 'exit');
    await until('it waits for the answer to its callback', () => asked.length === 1, 60_000);
    host.kill('SIGKILL'); // it has the claim on its delivery
    await died;
    await bucket.up();
    const ledger = read(project);
    const runId = asked[0] ?? '';
    const [ended] = ledger.read({ runId, types: ['dispatch.finished'] });
    const patchRef = ended?.data.patchRef ?? 'no patch';
    const isMirrored = (): boolean =>
      readdirSync(bucket.directory, { recursive: true }).join('\n').includes(patchRef);
    expect(isMirrored()).toBe(false);
    const delivered = () => ledger.read({ runId, types: ['callback.delivered'] });
    await until('its callback is delivered', () => delivered().length > 0, 120_000);
    await until('its work is in the bucket', isMirrored, 90_000);
    expect(delivered()).toMatchObject([{ data: { url, event: 'dispatch.finished', status: 204, tries: 1 } }]);
    expect(asked).toEqual([runId, runId]);
  }, 240_000);
});
