/** A repository behind http: its token, its moods, and where neither of them may show up. */
import { execFileSync } from 'node:child_process';
import { chmodSync, readdirSync, readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { Transform } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { DispatchResult } from '@caisson/protocol';
import { describe, expect, it } from 'vitest';
import { createBareRemote } from './bare-remote.ts';
import { serveGit } from './git-server.ts';
import { startOtlpReceiver } from './otlp-receiver.ts';
import { createProject, finish } from './project.ts';

const TOKEN = 'ghp_planted0token1that2must3not4leak5';
const write = ['--', 'sh', '-c', 'echo x >work.txt'];

/** Processes whose arguments or environment have the text; the one that was given it and ours are left out. */
function findInProcesses(text: string, without: ReadonlySet<number>): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && !without.has(Number(name)))
    .flatMap((pid) =>
      ['cmdline', 'environ'].flatMap((file) => {
        try {
          const found = readFileSync(join('/proc', pid, file)).includes(text);
          return found ? [`${pid}/${file}: ${readFileSync(join('/proc', pid, 'cmdline'), 'utf8')}`] : [];
        } catch {
          return []; // it ended meanwhile, or is another user's
        }
      }),
    );
}

describe('a repository that wants a token', { timeout: 120_000 }, () => {
  it('is fetched from and pushed to, and the token is nowhere but in the requests', async () => {
    const remote = createBareRemote();
    const server = await serveGit(remote.path, { token: TOKEN });
    const project = createProject({ git: false });
    project.write('../token', `${TOKEN}\n`);
    chmodSync(join(project.root, '../token'), 0o600);
    const found: string[] = [];
    const own = new Set([process.pid]);
    const options = ['--repo', server.url, '--branch', 'work', '--push', '--git-token', 'file:../token'];
    const child = project.start('run', '-o', 'json', ...options, ...write);
    const looking = setInterval(() => found.push(...findInProcesses(TOKEN, own)), 5);
    const { code, stdout, stderr } = await finish(child);
    clearInterval(looking);
    expect([code, stderr]).toEqual([0, '']);
    const { runId, push } = JSON.parse(stdout) as { runId: string; push: unknown };
    expect(push).toEqual({ remote: server.url, branch: 'work', status: 'pushed' });
    expect(remote.find('work')).not.toBe(null);
    expect(server.seen.some(({ headers }) => headers.authorization !== undefined)).toBe(true);
    expect(found).toEqual([]);
    expect((await project.caisson('export', runId, '--to', 'proof')).code).toBe(0);
    const inBase64 = Buffer.from(`x-access-token:${TOKEN}`).toString('base64');
    for (const text of [TOKEN, inBase64]) {
      const hits = execFileSync('sh', [
        '-c',
        `grep -rlaF -- ${text} ${project.root} ${project.root}/../home || true`,
      ]);
      expect(hits.toString()).toBe('');
    }
  });

  it.each(['git-upload-pack', 'git-receive-pack'])(
    'and repeats what it was sent, shows it to nobody: %s',
    async (service) => {
      const remote = createBareRemote();
      const server = await serveGit(remote.path, { token: TOKEN });
      const project = createProject({ git: false, env: { GIT_TOKEN: TOKEN } });
      server.misbehave((request, response) => {
        const sent = request.headers.authorization ?? '';
        if (sent === '') return response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
        if (request.url?.includes(service) !== true) return server.serve(request, response);
        const plain = Buffer.from(sent.replace('Basic ', ''), 'base64').toString('utf8');
        return response.writeHead(500, { 'content-type': 'text/plain' }).end(`no ${sent}\nno ${plain}\n`);
      });
      const options = ['--repo', server.url, '--branch', 'work', '--push', '--git-token', 'env:GIT_TOKEN'];
      const run = await project.run(...options, '--retries', '0', ...write);
      const detail = run.failure?.detail ?? run.push?.detail;
      expect([run.cli.code, detail]).toEqual([1, expect.stringContaining('no Basic [redacted:gitToken]')]);
      const shown = run.cli.stdout + run.cli.stderr + (await project.caisson('logs', run.runId)).stdout;
      for (const text of [TOKEN, Buffer.from(`x-access-token:${TOKEN}`).toString('base64').slice(0, 40)]) {
        expect(shown).not.toContain(text);
        const hits = execFileSync('sh', ['-c', `grep -rlaF -- ${text} ${project.root} || true`]);
        expect(hits.toString()).toBe('');
      }
    },
  );

  it('exports traces without it, also of a run whose remote repeats it', async () => {
    const receiver = await startOtlpReceiver();
    const server = await serveGit(createBareRemote().path, { token: TOKEN });
    const project = createProject({
      git: false,
      env: { GIT_TOKEN: TOKEN, OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url },
    });
    const options = ['--repo', server.url, '--push', '--git-token', 'env:GIT_TOKEN', '--retries', '0'];
    const pushed = await project.run(...options, '--branch', 'work', ...write);
    server.misbehave((request, response) => {
      const sent = request.headers.authorization ?? '';
      if (sent === '') return response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
      const plain = Buffer.from(sent.replace('Basic ', ''), 'base64').toString('utf8');
      return response.writeHead(500, { 'content-type': 'text/plain' }).end(`no ${sent}\nno ${plain}\n`);
    });
    const failed = await project.run(...options, '--branch', 'other', ...write);
    expect([pushed.push?.status, failed.failure?.detail]).toEqual([
      'pushed',
      expect.stringContaining('[redacted:gitToken]'),
    ]);
    const exported = Buffer.concat(receiver.bodies).toString('latin1') + JSON.stringify(receiver.headers);
    for (const { runId } of [pushed, failed]) expect(exported).toContain(runId);
    for (const text of [TOKEN, Buffer.from(`x-access-token:${TOKEN}`).toString('base64').slice(0, 40)])
      expect(exported).not.toContain(text);
  });

  it('fails with the reason when it gets none, or a wrong one, and nobody is asked', async () => {
    const remote = createBareRemote();
    const server = await serveGit(remote.path, { token: TOKEN });
    const project = createProject({ git: false, env: { WRONG: 'wr0ng' } });
    for (const options of [[], ['--git-token', 'env:WRONG']]) {
      const run = await project.run('--repo', server.url, ...options, ...write);
      expect([run.cli.code, run.failure?.reason]).toEqual([1, 'worker-failed']);
      expect(run.failure?.detail).toMatch(
        /could not be read: fatal: .*(Authentication failed|could not read)/,
      );
      expect(run.failure?.detail).toContain('--git-token');
    }
  });

  it('keeps the branch when the token is gone at the end, and pushes it when asked to with one', async () => {
    const remote = createBareRemote();
    const server = await serveGit(remote.path, { token: TOKEN });
    const project = createProject({ git: false, env: { GIT_TOKEN: TOKEN } });
    const options = ['--repo', server.url, '--branch', 'work', '--push', '--git-token', 'env:GIT_TOKEN'];
    server.misbehave((request, response) => {
      if (request.url?.includes('git-receive-pack') === true) response.writeHead(403).end();
      else server.serve(request, response);
    });
    const run = await project.run(...options, ...write);
    expect([run.cli.code, run.status, run.push?.reason]).toEqual([1, 'done', 'credentials']);
    const listed = await project.caisson('branches');
    expect(listed.stdout).toMatch(
      new RegExp(`${run.runId} +work +done +not pushed to ${server.url}: credentials`),
    );
    server.misbehave(null);
    const pushed = await project.caisson('branches', '--push');
    expect([pushed.code, pushed.stdout]).toEqual([0, `${run.runId} work: pushed to ${server.url}\n`]);
    expect(remote.find('work')).toBe(run.branch?.commit);
    expect((await project.caisson('branches')).stdout).toBe('No branch waits.\n');
  });
});

/** Passes a few kilobytes at a time on, each after a moment. */
function trickle(onPiece: () => void): Transform {
  const PIECE_BYTES = 4096;
  return new Transform({
    async transform(chunk: Buffer, _encoding, done) {
      for (let at = 0; at < chunk.length; at += PIECE_BYTES) {
        await delay(20);
        onPiece();
        this.push(chunk.subarray(at, at + PIECE_BYTES));
      }
      done();
    },
  });
}

describe('a server', { timeout: 120_000 }, () => {
  it('that redirects, to another host or a file, is not followed', async () => {
    const remote = createBareRemote();
    const other = await serveGit(remote.path);
    const server = await serveGit(remote.path);
    const project = createProject({ git: false });
    for (const place of [other.url, `file://${remote.path}`]) {
      server.misbehave((request, response) => {
        response.writeHead(302, { location: place + (request.url ?? '').replace(/^\/[^/]*/, '') }).end();
      });
      const run = await project.run('--repo', server.url, '--retries', '0', ...write);
      expect([run.cli.code, run.failure?.detail]).toEqual([1, expect.stringContaining('could not be read')]);
    }
    expect(other.seen).toEqual([]);
  });

  it('that never answers is left after the deadline', async () => {
    const server = await serveGit(createBareRemote().path);
    server.misbehave(() => undefined);
    const project = createProject({ git: false, config: 'git: { timeout: 2s }\n' });
    const run = await project.run('--repo', server.url, '--retries', '0', ...write);
    expect([run.cli.code, run.failure]).toMatchObject([
      1,
      { reason: 'fetch-failed', detail: expect.stringContaining('could not be read within 2 s') as string },
    ]);
  });

  it('that disappears in the middle of a fetch is tried again, and the work is done', async () => {
    const noise = Array.from({ length: 40_000 }, (_, index) => Math.sin(index)).join('\n');
    const remote = createBareRemote({ 'large.txt': noise });
    const server = await serveGit(remote.path);
    let cuts = 0;
    server.misbehave((request, response) => {
      const isFetch = request.method === 'POST' && Number(request.headers['content-length'] ?? 0) > 0;
      if (!isFetch || cuts === 2) return server.serve(request, response);
      // What has arrived of the answer by then is sent, and the connection is gone.
      cuts += 1;
      const write = response.write.bind(response);
      response.write = (chunk: Buffer) => {
        const isWritten = write(chunk.subarray(0, 100));
        response.socket?.destroySoon();
        return isWritten;
      };
      return server.serve(request, response);
    });
    const project = createProject({ git: false });
    const options = ['--repo', server.url, '--branch', 'work', '--push', '--retries', '3'];
    const run = await project.run(...options, ...write);
    expect([run.cli.code, run.push?.status, cuts]).toEqual([0, 'pushed', 2]);
    expect(remote.git('show', 'work:work.txt')).toBe('x');
  });

  it('that is slow, yet never stands still, is waited for', async () => {
    const remote = createBareRemote();
    const server = await serveGit(remote.path);
    server.misbehave((request, response) => void setTimeout(() => server.serve(request, response), 300));
    const project = createProject({ git: false, config: 'git: { timeout: 30s }\n' });
    const run = await project.run('--repo', server.url, '--branch', 'work', '--push', ...write);
    expect([run.cli.code, run.push?.status]).toEqual([0, 'pushed']);
  });

  it('that sends and takes a little at a time is waited for, in the fetch and in the push', async () => {
    const noise = Array.from({ length: 20_000 }, (_, index) => Math.sin(index)).join('\n');
    const remote = createBareRemote({ 'large.txt': noise });
    const server = await serveGit(remote.path);
    const pieces = { sent: 0, taken: 0 };
    server.misbehave((request, response) => {
      if (request.method !== 'POST') return server.serve(request, response);
      const { method, url, headers } = request;
      const taking = request.pipe(trickle(() => (pieces.taken += 1)));
      const [write, end] = [response.write.bind(response), response.end.bind(response)];
      const sending = trickle(() => (pieces.sent += 1))
        .on('data', write)
        .on('end', end);
      Object.assign(response, { write: sending.write.bind(sending), end: () => sending.end() });
      return server.serve(
        Object.assign(taking, { method, url, headers }) as unknown as IncomingMessage,
        response,
      );
    });
    const project = createProject({ git: false, config: 'git: { timeout: 60s }\n' });
    const program = ['--', 'sh', '-c', 'head -c 200000 /dev/urandom >work.bin'];
    const run = await project.run('--repo', server.url, '--branch', 'work', '--push', ...program);
    expect([run.cli.code, run.push?.status]).toEqual([0, 'pushed']);
    expect(remote.find('work')).toBe(run.branch?.commit);
    expect([pieces.sent > 30, pieces.taken > 30]).toEqual([true, true]);
  });

  it('that sends more than allowed is cut off, and nothing of it stays', async () => {
    const noise = Array.from({ length: 40_000 }, (_, index) => Math.sin(index)).join('\n');
    const server = await serveGit(createBareRemote({ 'large.txt': noise }).path);
    const project = createProject({ git: false, config: 'git: { maxFetch: 64k }\n' });
    const run = await project.run('--repo', server.url, ...write);
    expect([run.cli.code, run.failure?.detail]).toEqual([
      1,
      expect.stringContaining('more than 65536 bytes'),
    ]);
    const packs = execFileSync('sh', ['-c', 'ls .caisson/remotes/*/objects/pack'], { cwd: project.root });
    expect(packs.toString()).toBe('');
  });

  it('named by the project itself is asked about first, and one that the user names is not', async () => {
    const remote = createBareRemote();
    const server = await serveGit(remote.path);
    const project = createProject({ git: false, config: `git: { url: "${server.url}" }\n`, trusts: false });
    const refused = await project.caisson('run', ...write);
    expect([refused.code, refused.stderr]).toEqual([4, expect.stringContaining('caisson trust')]);
    expect(server.seen).toEqual([]);
    await project.trust();
    const run = await project.run('--branch', 'work', '--push', ...write);
    expect([run.cli.code, run.push?.status]).toEqual([0, 'pushed']);
  });
});

describe('a server that fails while it is pushed to', { timeout: 120_000 }, () => {
  const TOO_LONG = {
    reason: 'timeout',
    detail: expect.stringContaining('could not be pushed to within 2 s') as string,
  } as const;
  type Failing = (request: IncomingMessage, response: ServerResponse) => void;
  const isPush = ({ method, url }: IncomingMessage): boolean =>
    method === 'POST' && url?.endsWith('/git-receive-pack') === true;

  it.each<[string, Failing, Partial<DispatchResult['push']>]>([
    [
      'cuts the connection',
      (request) => void request.once('data', () => request.socket.destroy()),
      { reason: 'unreachable' },
    ],
    ['takes everything and says nothing', (request) => void request.resume(), TOO_LONG],
    [
      'stops in the middle of its answer',
      (_, response) => void response.writeHead(200).write('00'),
      TOO_LONG,
    ],
  ])('and %s costs no work, and not much time; a later push works', async (_how, fail, problem) => {
    const remote = createBareRemote();
    const server = await serveGit(remote.path);
    const project = createProject({ git: false, config: 'git: { timeout: 2s }\n' });
    server.misbehave((request, response) =>
      isPush(request) ? fail(request, response) : server.serve(request, response),
    );
    const startedMs = performance.now();
    const options = ['--repo', server.url, '--branch', 'work', '--push'];
    const { code, stderr } = await project.caisson('run', ...options, ...write);
    expect(performance.now() - startedMs).toBeLessThan(60_000);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/caisson branches .*--push/)]);
    const run = JSON.parse((await project.caisson('show', 'latest', '-o', 'json')).stdout) as DispatchResult;
    expect([run.status, run.push]).toMatchObject([
      'done',
      { remote: server.url, branch: 'work', status: 'failed', ...problem },
    ]);
    expect(remote.find('work')).toBe(null);
    expect((await project.caisson('diff', run.runId)).stdout).toContain('+x');
    server.misbehave(null);
    const pushed = await project.caisson('branches', run.runId, '--push');
    expect([pushed.code, pushed.stdout]).toEqual([0, `${run.runId} work: pushed to ${server.url}\n`]);
    expect([remote.find('work'), remote.git('show', 'work:work.txt')]).toEqual([run.branch?.commit, 'x']);
  });

  it('and answers too late, after it has the branch, is not said to lack it', async () => {
    const remote = createBareRemote();
    const server = await serveGit(remote.path);
    const project = createProject({ git: false, config: 'git: { timeout: 4s }\n' });
    server.misbehave((request, response) => {
      if (isPush(request))
        Object.assign(response, { writeHead: () => response, write: () => true, end: () => response });
      server.serve(request, response);
    });
    const run = await project.run('--repo', server.url, '--branch', 'work', '--push', ...write);
    expect([run.cli.code, run.push?.status]).toEqual([0, 'pushed']);
    expect(remote.find('work')).toBe(run.branch?.commit);
  });

  it('once, and not after that, is pushed to by the same run', async () => {
    const remote = createBareRemote();
    const server = await serveGit(remote.path);
    let cuts = 0;
    server.misbehave((request, response) => {
      if (!isPush(request) || cuts === 1) return server.serve(request, response);
      cuts += 1;
      // The branch is there by then, and its sender gets no answer.
      response.write = () => {
        request.socket.destroy();
        return false;
      };
      return server.serve(request, response);
    });
    const project = createProject({ git: false });
    const run = await project.run('--repo', server.url, '--branch', 'work', '--push', ...write);
    expect([run.cli.code, run.push?.status, cuts]).toEqual([0, 'pushed', 1]);
    expect(remote.find('work')).toBe(run.branch?.commit);
  });
});
