/** kill -9 of the host of a run on a remote repository, in each phase: recovery leaves the branch where the work is. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openLedger } from '../../packages/engine/src/ledger/index.ts';
import { createBareRemote, type BareRemote } from '../e2e/bare-remote.ts';
import { serveGit } from '../e2e/git-server.ts';
import { startOtlpReceiver } from '../e2e/otlp-receiver.ts';
import { createProject, finish, makeState, pidsWith, until, type Project } from '../e2e/project.ts';
import { hasCome, listFolder, type Moment } from './moments.ts';
import { readCommand } from './processes.ts';

const TIMEOUT = { timeout: 180_000 };
const WRITES = ['--', 'sh', '-c', 'echo x >work.txt'];

interface Killed {
  readonly remote: BareRemote;
  readonly project: Project;
  /** Whether the agent had written its file before the kill. */
  readonly hadWork: boolean;
}

async function killAt(
  isThere: (project: Project) => () => boolean,
  env: Record<string, string> = {},
): Promise<Killed> {
  const remote = createBareRemote();
  const project = createProject({ git: false, env });
  const stateDir = makeState(project);
  const hasPhaseCome = isThere(project);
  const options = ['--repo', remote.path, '--branch', 'work', '--push', '--retries', '0'];
  const host = project.start('run', '-o', 'json', ...options, ...WRITES);
  const ended = finish(host);
  const worktrees = join(stateDir, 'worktrees');
  let hadWork = false;
  await until(
    'the phase',
    () => {
      hadWork ||= listFolder(worktrees).some((name) => existsSync(join(worktrees, name, 'files/work.txt')));
      return hasPhaseCome() || host.exitCode !== null;
    },
    60_000,
  );
  host.kill('SIGKILL');
  await ended;
  return { remote, project, hadWork };
}

/** The next host settles what the dead one left, and pushes it. */
async function expectRecovered({ remote, project, hadWork }: Killed): Promise<void> {
  expect((await project.run('--workspace', 'empty', '--', 'true')).cli.code).toBe(0);
  const { stdout } = await project.caisson('runs', '-o', 'json');
  const [killed] = (JSON.parse(stdout) as { runId: string; status: string }[]).filter(
    ({ status }) => status !== 'done',
  );
  const found = remote.find('work');
  expect(hadWork && found === null).toBe(false);
  if (found !== null) expect(remote.git('show', 'work:work.txt')).toBe('x');
  expect(remote.git('for-each-ref', '--format=%(refname)', 'refs/caisson')).toBe('');
  const waiting = await project.caisson('branches', '-o', 'json');
  expect(JSON.parse(waiting.stdout)).toEqual([]);
  expect(listFolder(join(project.root, '.caisson/worktrees'))).toEqual([]);
  if (killed === undefined) return;
  const again = await project.caisson('retry', killed.runId, '-o', 'json');
  expect([again.code, remote.git('show', 'work:work.txt')]).toEqual([0, 'x']);
}

/** As moments.ts has them, for a run whose checkpoints are in our copy of the remote. */
function atMoment(moment: Moment): (project: Project) => () => boolean {
  return ({ root }) => {
    const stateDir = join(root, '.caisson');
    const ledger = openLedger(join(stateDir, 'ledger.db'));
    onTestFinished(() => ledger.close());
    return () => hasCome(moment, { root, stateDir, ledger, custody: stateDir });
  };
}

const atEvent =
  (type: 'attempt.ended' | 'branch.pushed' | 'run.queued' | 'dispatch.started') =>
  ({ root }: Project): (() => boolean) => {
    const ledger = openLedger(join(root, '.caisson/ledger.db'));
    onTestFinished(() => ledger.close());
    return () => ledger.read({ types: [type] }).length > 0;
  };

/** The ref is written when the work is committed, before the ending. */
const atCommit =
  ({ root }: Project) =>
  (): boolean => {
    const remotes = join(root, '.caisson/remotes');
    const copies = listFolder(remotes).map((name) => join(remotes, name, 'refs/caisson'));
    return copies.some((refs) =>
      listFolder(refs).some((run) => listFolder(join(refs, run)).some((name) => name === '1')),
    );
  };

describe('a host that is killed', TIMEOUT, () => {
  it.each(['preparing', 'job-written', 'started', 'captured', 'result', 'ended', 'sealed'] as const)(
    'once %s leaves the branch where the work is',
    async (moment) => expectRecovered(await killAt(atMoment(moment))),
  );

  it('once the work is committed leaves the branch where the work is', async () => {
    const killed = await killAt(atCommit);
    expect(killed.hadWork).toBe(true);
    await expectRecovered(killed);
  });

  it('once the branch is pushed leaves nothing but the branch', async () => {
    const killed = await killAt(atEvent('branch.pushed'));
    expect(killed.remote.find('work')).not.toBe(null);
    await expectRecovered(killed);
  });

  it('between two attempts leaves the branch of the first one, and a pool no worker that is gone', async () => {
    const remote = createBareRemote();
    const project = createProject({ git: false });
    makeState(project);
    const hasEnded = atEvent('attempt.ended')(project);
    const options = ['--repo', remote.path, '--branch', 'work', '--push', '--retries', '1'];
    const mark = `sleep 76${process.pid}`;
    const host = project.start(
      'run',
      '-o',
      'json',
      ...options,
      '--',
      'sh',
      '-c',
      `echo x >work.txt; [ -e done ] || ${mark}`,
    );
    const inside = (): number[] => pidsWith(mark).filter((pid) => readCommand(pid).startsWith('sleep'));
    await until('the agent has written', () => inside().length > 0, 60_000);
    const [row] = JSON.parse((await project.caisson('runs', '-o', 'json')).stdout) as [{ runId: string }];
    const launched = (await project.events(row.runId)).find(({ type }) => type === 'attempt.launched');
    if (launched === undefined) throw new Error('nothing was launched');
    const { pid } = launched['handle'] as { pid: number };
    process.kill(pid, 'SIGKILL');
    await until('the first attempt is over', hasEnded, 60_000);
    host.kill('SIGKILL');
    await finish(host);
    const { stdout } = await project.caisson('branches', '-o', 'json'); // settles it, and pushes nothing
    expect(JSON.parse(stdout)).toMatchObject([{ status: 'interrupted', push: { status: 'pending' } }]);
    expect(stdout).not.toContain('isPushing');
    const types = (await project.events(row.runId)).map(({ type }) => type);
    expect(types.slice(types.indexOf('dispatch.failed'))).toContain('workspace.removed');
    remote.commit({ done: 'so that the retry ends\n' });
    await expectRecovered({ remote, project, hadWork: true });
  });

  it('while it is started leaves one trace: that of the host which settles the run', async () => {
    const receiver = await startOtlpReceiver();
    const killed = await killAt(atMoment('started'), { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url });
    const listed = await killed.project.caisson('runs', '-o', 'json'); // settles it
    const [{ runId } = { runId: '' }] = JSON.parse(listed.stdout) as { runId: string }[];
    await expectRecovered(killed);
    const roots = receiver.spans.filter(({ name }) => name === 'worker.execute');
    const own = roots.filter(({ attributes }) => attributes['caisson.run.id'] === runId);
    expect(own).toHaveLength(1);
    expect(new Set(receiver.spans.map(({ spanId }) => spanId)).size).toBe(receiver.spans.length);
  });

  it('while it waits in the queue leaves a run that can be repeated, and its place to others', async () => {
    const remote = createBareRemote();
    const project = createProject({ git: false, config: 'limits: { concurrency: 1 }\n' });
    await project.trust();
    const options = ['--repo', remote.path, '--branch', 'work', '--push', '--retries', '0'];
    const isThere = atEvent('dispatch.started');
    makeState(project);
    const hasStarted = isThere(project);
    const first = project.start('run', '--workspace', 'empty', '--', 'sh', '-c', 'sleep 600');
    await until('the first one works', hasStarted, 60_000);
    const isQueued = atEvent('run.queued')(project);
    const second = project.start('run', '-o', 'json', ...options, ...WRITES);
    await until('the second one waits', isQueued, 60_000);
    second.kill('SIGKILL');
    await finish(second);
    first.kill('SIGINT');
    await finish(first);
    const { stdout } = await project.caisson('runs', '-o', 'json');
    const runs = JSON.parse(stdout) as { runId: string; status: string }[];
    const lost = runs.find(({ status }) => status === 'interrupted');
    expect(runs.map(({ status }) => status).toSorted()).toEqual(['cancelled', 'interrupted']);
    expect(remote.find('work')).toBe(null);
    const again = await project.caisson('retry', lost?.runId ?? '', '-o', 'json');
    expect([again.code, remote.git('show', 'work:work.txt')]).toEqual([0, 'x']);
  });

  it('while it fetches leaves no process, no branch, and a copy that the next run uses', async () => {
    const remote = createBareRemote();
    const server = await serveGit(remote.path);
    const project = createProject({ git: false });
    let isFetching = false;
    server.misbehave((request, response) => {
      // The list of refs is answered, and the pack begins and never ends.
      if (request.method !== 'POST') return server.serve(request, response);
      const parts: Buffer[] = [];
      request.on('data', (chunk: Buffer) => parts.push(chunk));
      request.on('end', () => {
        isFetching = Buffer.concat(parts).includes('command=fetch');
        response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-result' });
        response.write(isFetching ? '000dpackfile\n' : `${listingOf(remote)}0000`);
        if (!isFetching) response.end();
      });
    });
    const options = ['--repo', server.url, '--branch', 'work', '--push'];
    const host = project.start('run', '-o', 'json', ...options, ...WRITES);
    await until('the fetch has begun', () => isFetching, 60_000);
    host.kill('SIGKILL');
    await finish(host);
    await until('git is gone', () => pidsWith(server.url).length === 0, 60_000);
    server.misbehave(null);
    await expectRecovered({ remote, project, hadWork: false });
    const next = await project.run('--repo', server.url, '--branch', 'next', '--push', ...WRITES);
    expect([next.cli.code, next.push?.status]).toEqual([0, 'pushed']);
  });
});

/** What `ls-refs` of git's protocol 2 answers. */
function listingOf(remote: BareRemote): string {
  const id = remote.find('main') ?? '';
  const lines = [`${id} HEAD symref-target:refs/heads/main\n`, `${id} refs/heads/main\n`];
  return lines.map((line) => (line.length + 4).toString(16).padStart(4, '0') + line).join('');
}
