/** A token of the config or of a pool while an agent really runs, and what a hostile user configuration of git can do. */
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createBareRemote, type BareRemote } from './bare-remote.ts';
import { serveGit } from './git-server.ts';
import { startOtlpReceiver } from './otlp-receiver.ts';
import { createProject, finish, ROOT, until, type CliRun, type Project } from './project.ts';

const TOKEN = 'ghp_planted0token4that5must6not7leak8';
const FORMS = [TOKEN, Buffer.from(`x-access-token:${TOKEN}`).toString('base64').slice(0, 40)];
const TIMEOUT = { timeout: 120_000 };
/** An agent that works until the test has looked around. */
const WAITS = 'echo > started; until [ -e go ]; do sleep 0.05; done; rm started go; echo x > work.txt';

function readOr(path: string, otherwise: Buffer): Buffer {
  try {
    return readFileSync(path);
  } catch {
    return otherwise; // it ended meanwhile, or is another user's
  }
}

/**
 * Programs whose arguments or environment have the token. The process that it was given to is left out, and so is a copy of
 * that which has not begun its own program yet: it has the arguments of the one it was made by.
 */
function findInProcesses(given: number): string[] {
  const empty = Buffer.alloc(0);
  const own = readOr(`/proc/${given}/cmdline`, empty);
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && name !== String(given) && name !== String(process.pid))
    .flatMap((pid) => {
      const [environ, cmdline] = ['environ', 'cmdline'].map((file) => readOr(`/proc/${pid}/${file}`, empty));
      if (environ === undefined || cmdline === undefined || cmdline.equals(own)) return [];
      const has = FORMS.some((text) => environ.includes(text) || cmdline.includes(text));
      return has ? [cmdline.toString().replaceAll('\0', ' ')] : [];
    });
}

/** Objects and logs of every git folder below; what is compressed there, no search of files finds. */
function readGit(folders: readonly string[]): Buffer {
  const dirs = folders.flatMap((folder) =>
    execFileSync('find', [
      folder,
      '-name',
      'HEAD',
      '-path',
      '*.git*',
      '-o',
      '-name',
      'HEAD',
      '-path',
      '*/remotes/*',
    ])
      .toString()
      .split('\n')
      .filter((path) => path !== '' && !path.includes('/logs/'))
      .map((path) => path.slice(0, -'/HEAD'.length)),
  );
  const parts = dirs.flatMap((dir) =>
    [
      ['cat-file', '--batch-all-objects', '--batch', '--unordered'],
      ['reflog', 'show', '--all'],
      ['config', '-l'],
    ].map((args) => {
      try {
        return execFileSync('git', [`--git-dir=${dir}`, ...args], { maxBuffer: 2 ** 28, stdio: 'pipe' });
      } catch {
        return Buffer.alloc(0); // no git folder
      }
    }),
  );
  expect(parts.some((part) => part.length > 0)).toBe(true);
  return Buffer.concat(parts);
}

async function findStarted({ root }: Project): Promise<string> {
  const worktrees = join(root, '.caisson/worktrees');
  return await until(
    'the agent runs',
    () => {
      try {
        const folders = readdirSync(worktrees).map((name) => join(worktrees, name, 'files'));
        return folders.find((folder) => readdirSync(folder).includes('started')) ?? null;
      } catch {
        return null;
      }
    },
    60_000,
  );
}

/** Nothing of what is kept has the token, in none of its forms. */
async function expectNowhere(
  project: Project,
  remote: BareRemote,
  traces: Buffer,
  said: CliRun,
): Promise<void> {
  const runId =
    (JSON.parse((await project.caisson('runs', '-o', 'json')).stdout) as { runId: string }[])[0]?.runId ?? '';
  const told = await Promise.all([
    ...['logs', 'show'].map(
      async (name) => await project.caisson(name, runId, '-o', name === 'logs' ? 'ndjson' : 'json'),
    ),
    project.caisson('export', runId, '--to', 'proof'),
  ]);
  expect(told.map(({ code }) => code)).toEqual([0, 0, 0]);
  const git = readGit([project.root, remote.path]);
  expect(git.includes('work.txt')).toBe(true); // the search sees into trees
  for (const text of FORMS) {
    expect([git.includes(text), traces.includes(text), JSON.stringify([told, said]).includes(text)]).toEqual([
      ...[false, false, false],
    ]);
    const folders = [project.root, remote.path, join(project.root, '../home')];
    const hits = execFileSync('sh', ['-c', `grep -rlaF -- ${text} ${folders.join(' ')} || true`]);
    expect(hits.toString()).toBe('');
  }
}

describe('a token that is named by', TIMEOUT, () => {
  it.each(['git.token of the config', 'gitToken of a pool'])(
    '%s is in no process beside the one that has it, and nowhere after the run',
    async (how) => {
      const remote = createBareRemote();
      const server = await serveGit(remote.path, { token: TOKEN });
      const receiver = await startOtlpReceiver();
      const isPool = how.startsWith('gitToken');
      const git = `git: { url: "${server.url}", token: "env:PLANTED" }\n`;
      const project = createProject({
        ...{ git: false, config: isPool ? '' : git },
        env: { PLANTED: TOKEN, OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url },
      });
      await project.trust();
      if (!isPool) await project.caisson('trust', '--yes', '--send-key', new URL(server.url).origin);
      const argv = ['sh', '-c', WAITS];
      const source = `
        import { WorkerPool } from 'caisson';
        const pool = new WorkerPool({
          cwd: ${JSON.stringify(project.root)}, gitToken: 'env:PLANTED', git: { url: '${server.url}', branch: 'main' },
          request: { runtime: 'command', argv: ${JSON.stringify(argv)} },
        });
        const { verdict } = await pool.assignTask({ id: 't', description: 'write', branch: 'work' });
        await pool.stop();
        if (!verdict.pushed) process.exitCode = 3;`;
      const child = isPool
        ? spawn(process.execPath, ['--input-type=module', '-e', source], {
            ...{ cwd: ROOT, env: project.env, stdio: ['ignore', 'pipe', 'pipe'] },
          })
        : project.start('run', '--branch', 'work', '--push', '--', ...argv);
      onTestFinished(() => void child.kill('SIGKILL'));
      const given = child.pid ?? 0;
      const found: string[] = [];
      const looking = setInterval(() => found.push(...findInProcesses(given)), 20);
      const ended = finish(child);
      const early = ended.then(({ code, stderr }) => Promise.reject(new Error(`exit ${code}: ${stderr}`)));
      const folder = await Promise.race([findStarted(project), early]);
      found.push(...findInProcesses(given)); // once at least, while it runs
      writeFileSync(join(folder, 'go'), '');
      early.catch(() => undefined);
      const said = await ended;
      clearInterval(looking);
      expect([said.code, said.stderr.match(/error:.*/)]).toEqual([0, null]);
      expect(found).toEqual([]);
      expect(remote.git('show', 'work:work.txt')).toBe('x');
      expect(receiver.spans.length).toBeGreaterThan(0);
      await expectNowhere(project, remote, Buffer.concat(receiver.bodies), said);
    },
  );
});

it("nothing of the user's own git configuration counts for a fetch or a push", TIMEOUT, async () => {
  const remote = createBareRemote();
  const other = createBareRemote({ 'b.txt': 'other\n' });
  const server = await serveGit(remote.path, { token: TOKEN });
  const project = createProject({ git: false, env: { PLANTED: TOKEN } });
  const home = project.env['HOME'] ?? '';
  expect(home === '' || home === homedir()).toBe(false);
  const mark = join(project.root, '..', 'ran');
  const program = join(project.root, '..', 'hostile');
  writeFileSync(program, `#!/bin/sh\necho "$0 $*" >> ${mark}\nexit 1\n`);
  chmodSync(program, 0o755);
  const hooks = join(project.root, '..', 'hooks');
  mkdirSync(hooks);
  for (const hook of ['pre-push', 'post-checkout', 'reference-transaction', 'post-index-change']) {
    writeFileSync(join(hooks, hook), `#!/bin/sh\necho ${hook} >> ${mark}\nexit 1\n`);
    chmodSync(join(hooks, hook), 0o755);
  }
  const config = `
[url "${other.path}"]
  insteadOf = ${server.url}
  pushInsteadOf = ${server.url}
[credential]
  helper = ${program}
[core]
  hooksPath = ${hooks}
  sshCommand = ${program}
  fsmonitor = ${program}
  askPass = ${program}
[http]
  proxy = http://127.0.0.1:9
[protocol "ext"]
  allow = always
`;
  mkdirSync(join(home, '.config/git'), { recursive: true });
  mkdirSync(join(home, '.ssh'), { recursive: true });
  writeFileSync(join(home, '.gitconfig'), config);
  writeFileSync(join(home, '.config/git/config'), config);
  writeFileSync(join(home, '.ssh/config'), `Host *\n  ProxyCommand ${program} proxy\n`);
  Object.assign(project.env, {
    ...{ GIT_SSH_COMMAND: program, GIT_SSH: program, GIT_ASKPASS: program, SSH_ASKPASS: program },
    ...{ GIT_PROXY_COMMAND: program, GIT_EXTERNAL_DIFF: program, GIT_EDITOR: program },
    ...{
      http_proxy: 'http://127.0.0.1:9',
      https_proxy: 'http://127.0.0.1:9',
      ALL_PROXY: 'http://127.0.0.1:9',
    },
    ...{ GIT_CONFIG_COUNT: '2', GIT_CONFIG_KEY_0: 'core.hooksPath', GIT_CONFIG_VALUE_0: hooks },
    ...{ GIT_CONFIG_KEY_1: `url.${other.path}.insteadOf`, GIT_CONFIG_VALUE_1: server.url },
    GIT_CONFIG_PARAMETERS: `'core.hooksPath'='${hooks}'`,
  });
  const options = ['--repo', server.url, '--branch', 'work', '--push', '--git-token', 'env:PLANTED'];
  const run = await project.run(...options, '--', 'sh', '-c', 'ls; echo x > work.txt');
  expect([run.cli.code, run.push?.status, run.stdout]).toEqual([0, 'pushed', 'a.txt\n']);
  expect([remote.git('show', 'work:work.txt'), other.find('work')]).toEqual(['x', null]);
  // An ssh that runs at all runs ours, with no configuration of the user.
  const ssh = await project.run('--repo', 'ssh://nobody@127.0.0.1:9/r.git', '--retries', '0', '--', 'true');
  expect([ssh.cli.code, ssh.failure?.detail]).toEqual([1, expect.stringMatching(/could not be read/)]);
  expect(readOr(mark, Buffer.from('none')).toString()).toBe('none');
});
