/**
 * Everything has to work without root. Started by root, each command line runs as a user who owns only the project and
 * its home (setpriv); started by another user, it runs as that user.
 */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { startModelServer } from '@caisson/testkit';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { DispatchResult } from '@caisson/protocol';
import { findAgentBin, installAgent, PINNED_AGENTS } from '../agents/install-agents.mjs';
import { finish, pidsWith, ROOT, until, type CliRun } from './project.ts';

const BIN = join(ROOT, 'packages/cli/bin/caisson.js');
const LIMIT_MS = 120_000;
const isRoot = process.getuid?.() === 0;
/** No entry in the password file, no groups: a user with the fewest rights. */
const UID = isRoot ? 31_234 : (process.getuid?.() ?? 0);

interface UserProject {
  readonly root: string;
  start(...argv: string[]): ChildProcess;
  sh(script: string): void;
  caisson(...args: string[]): Promise<CliRun>;
  run(...args: string[]): Promise<DispatchResult & { cli: CliRun }>;
}

function createUserProject(options: { config?: string; env?: Record<string, string> } = {}): UserProject {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'caisson-user-')));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const root = join(base, 'project');
  const home = join(base, 'home');
  chmodSync(base, 0o755);
  for (const folder of [root, home]) {
    mkdirSync(folder);
    if (isRoot) chownSync(folder, UID, UID);
  }
  const env = {
    PATH: `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin`,
    HOME: home,
    LANG: 'C.UTF-8',
    ...options.env,
  };
  const asUser = (argv: readonly string[]): [string, string[]] =>
    isRoot
      ? ['setpriv', [`--reuid=${UID}`, `--regid=${UID}`, '--clear-groups', '--no-new-privs', ...argv]]
      : [argv[0] ?? '', argv.slice(1)];
  const project: UserProject = {
    root,
    start(...argv) {
      const child = spawn(...asUser(argv), { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
      onTestFinished(() => void child.kill('SIGKILL'));
      return child;
    },
    sh: (script) => {
      execFileSync(...asUser(['sh', '-euc', script]), { cwd: root, env });
    },
    caisson: (...args) => finish(project.start(process.execPath, BIN, ...args)),
    async run(...args) {
      const cli = await project.caisson('run', '-o', 'json', ...args);
      try {
        return { ...(JSON.parse(cli.stdout) as DispatchResult), cli };
      } catch {
        throw new Error(`no result on stdout (exit ${cli.code}): ${cli.stdout}${cli.stderr}`);
      }
    },
  };
  project.sh(`
    git init -q -b main
    git config user.name U && git config user.email u@example.invalid
    echo one > a.txt
    cat > caisson.yaml <<'END'
${options.config ?? 'mode: auto-edit'}
END
    git add . && git commit -qm first`);
  return project;
}

/** Ignores SIGTERM, leaves its session, holds the pipe: three ways to outlive a shell. */
const stubborn = (mark: string): string =>
  `trap "" TERM INT; (setsid nohup bash -c 'trap "" TERM; exec -a ${mark} sleep 300' &); ` +
  `(exec -a ${mark} sleep 301 &); echo up; exec -a ${mark} sleep 302`;

let marks = 0;
const nextMark = (): string => `caisson-ordinary-${process.pid}-${(marks += 1)}`;

describe('an ordinary user', { timeout: LIMIT_MS }, () => {
  test('runs a command, sees its patch, applies it, and owns every file afterwards', async () => {
    const project = createUserProject();
    const run = await project.run('--', 'sh', '-c', 'id -u; echo two >> a.txt');
    expect(run.status).toBe('done');
    expect(run.stdout.trim()).not.toBe('0');
    expect((await project.caisson('diff', run.runId)).stdout).toContain('\n+two\n');
    expect(await project.caisson('apply', run.runId)).toMatchObject({ code: 0 });
    project.sh('grep -q two a.txt');
    expect(ownersBelow(project.root)).toEqual([UID]);
    expect(await project.caisson('verify', run.runId)).toMatchObject({ code: 0 });
  });

  test('gets a private overlay on brought folders, and nothing of it stays', async () => {
    const project = createUserProject();
    project.sh(
      'echo node_modules > .gitignore; git add .; git commit -qm i; mkdir node_modules; echo 1 > node_modules/a',
    );
    const run = await project.run('--', 'sh', '-c', 'cd node_modules; echo 2 > a; echo 3 > b; cat a b');
    expect([run.status, run.stdout]).toEqual(['done', '2\n3\n']);
    project.sh('test "$(cat node_modules/*)" = 1; test -z "$(ls .caisson/runtime/layers)"');
  });

  test.each(['worktree', 'in-place'])(
    'learns before anything runs that a repository of another user keeps no work, workspace %s',
    async (workspace) => {
      const project = createUserProject();
      project.sh('echo dirty >> a.txt; chmod -R a-w .git/objects');
      const run = await project.run('--workspace', workspace, '--', 'sh', '-c', 'echo lost > b');
      expect(run).toMatchObject({ status: 'error', failure: { reason: 'worker-failed' }, result: null });
      expect(run.failure?.detail).toMatch(
        /cannot keep a run's work: EACCES on .*\/\.git\/objects\. Make its \.git/,
      );
      project.sh('chmod -R u+w .git/objects');
      expect((await project.run('--', 'sh', '-c', 'cat a.txt')).stdout).toBe('one\ndirty\n');
    },
  );

  test('learns that the current folder is in one that is closed, not that it is gone', async () => {
    const project = createUserProject();
    const script =
      'mkdir -p closed/here; cd closed/here; chmod 0 ..; "$0" "$1" runs; code=$?; chmod 700 ..; exit $code';
    const reported = await finish(project.start('sh', '-c', script, process.execPath, BIN));
    expect([reported.code, reported.stderr]).toEqual([
      2,
      expect.stringContaining('cannot be reached by its name (EACCES)'),
    ]);
  });

  test('learns when only a part of the repository is another user’s, and no work is lost silently', async () => {
    const project = createUserProject();
    project.sh(
      'for d in $(seq 0 255); do mkdir -p .git/objects/$(printf %02x $d); done; chmod -R a-w .git/objects/??',
    );
    const run = await project.run('--', 'sh', '-c', 'echo the-work > b');
    expect(run).toMatchObject({ status: 'error', failure: { reason: 'worker-failed' } });
    expect(run.failure?.detail).toContain('git add could not store what it read: insufficient permission');
    // A pack can still be stored, and so the checkpoint has the work.
    project.sh(`git show refs/caisson/${run.runId}/1:b | grep -q the-work && chmod -R u+w .git/objects`);
    expect((await project.caisson('diff', run.runId)).stdout).toContain('+the-work');
  });

  test.each(['bwrap', 'none'])('leaves no survivor after a timeout, sandbox %s', async (sandbox) => {
    const project = createUserProject({ config: 'limits: { grace: 1s }' });
    const mark = nextMark();
    const run = await project.run(
      ...['--sandbox', sandbox, '--timeout', '2s', '--', 'bash', '-c', stubborn(mark)],
    );
    expect([run.status, run.cli.code]).toEqual(['timeout', 124]);
    expect(run.stdout).toBe('up\n');
    expect(pidsWith(mark)).toEqual([]);
  });

  test.each(['bwrap', 'none'])(
    'leaves no survivor after a cancel from another shell, sandbox %s',
    async (sandbox) => {
      const project = createUserProject({ config: 'limits: { grace: 1s }' });
      const mark = nextMark();
      const detached = await project.caisson(
        ...['run', '--detach', '--sandbox', sandbox, '--', 'bash', '-c', stubborn(mark)],
      );
      const runId = detached.stdout.trim();
      await until(
        'the tree to be up',
        () => pidsWith(`${mark} 302`).length > 0 && pidsWith(`${mark} 300`).length > 0,
      );
      expect((await project.caisson('cancel', runId)).stdout).toBe(`${runId} was asked to stop\n`);
      expect(await project.caisson('logs', runId, '-f')).toMatchObject({ code: 0 });
      const shown = JSON.parse((await project.caisson('show', runId, '-o', 'json')).stdout) as DispatchResult;
      expect(shown.status).toBe('cancelled');
      expect(pidsWith(mark)).toEqual([]);
    },
  );

  test('learns which limits are enforced: chosen ones are refused where they cannot be, defaults are recorded', async () => {
    const project = createUserProject();
    const plain = await project.run('--', 'true');
    const enforced = plain.result?.policy.enforced as unknown as Record<string, unknown>;
    const doctor = JSON.parse((await project.caisson('doctor', '-o', 'json')).stdout) as {
      probes: { id: string; verdict: string; remedy?: string }[];
    };
    const probe = doctor.probes.find(({ id }) => id === 'cgroups');
    const chosen = await project.run('--memory', '256m', '--pids', '64', '--', 'true');
    if (probe?.verdict === 'ok') {
      expect(chosen.status).toBe('done');
      return;
    }
    expect(probe?.remedy).toMatch(/^(Start Caisson as root|Mount the cgroup)/);
    expect(enforced['cgroup']).toBe(false);
    const said = 'limits: memory, pids not enforced here (why, and what helps: caisson doctor)';
    expect((await project.caisson('show', plain.runId)).stdout).toContain(said);
    expect((await project.caisson('run', '--', 'true')).stderr.split(said)).toHaveLength(2);
    expect([chosen.failure?.reason, chosen.cli.code]).toEqual(['policy-denied', 4]);
    expect(chosen.failure?.detail).toMatch(
      /^the limit memory, pids was set and cannot be enforced here: .{1,300}$/,
    );
  });

  test('has a machine that can run agents, as far as the doctor is concerned', async () => {
    const project = createUserProject();
    const { code, stdout } = await project.caisson('doctor', '-o', 'json');
    const { probes } = JSON.parse(stdout) as { probes: { id: string; verdict: string; remedy?: string }[] };
    expect([code, probes.filter(({ verdict }) => verdict === 'fail')]).toEqual([0, []]);
    for (const probe of probes) expect(probe.remedy === undefined).toBe(probe.verdict === 'ok');
  });

  test('gives an agent in suggest mode nothing to write to, and no network', async () => {
    const project = createUserProject();
    const run = await project.run(
      ...['--mode', 'suggest', '--network', 'none', '--', 'sh', '-c'],
      'echo x 2>/dev/null > new.txt || echo refused; tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d " "',
    );
    expect([run.status, run.stdout]).toEqual(['done', 'refused\nlo\n']);
    expect(run.result?.patchRef).toBe(undefined);
  });

  test('is refused, in a sentence, in the project of another user', async () => {
    const project = createUserProject();
    await project.run('--', 'true');
    if (!isRoot) return;
    const asRoot = spawn(process.execPath, [BIN, 'run', '--', 'true'], {
      cwd: project.root,
      env: { HOME: '/root' },
    });
    expect(await finish(asRoot)).toMatchObject({
      code: 4,
      stderr: expect.stringContaining(`belongs to user ${UID}, and this is user 0`) as string,
    });
  });

  test.each(['codex', 'claude-code'])('lets %s write a file', async (runtime) => {
    const agent = PINNED_AGENTS.find(({ name }) => name === runtime);
    if (agent === undefined) throw new Error(`no pinned ${runtime}`);
    const bin = findAgentBin(runtime) ?? (await installAgent(agent));
    const server = await startModelServer({
      script: [{ tool: { intent: 'write-file', path: 'new.txt', content: 'hello\n' } }, { say: 'written' }],
    });
    onTestFinished(() => server.stop());
    const project = createUserProject({
      env: { MODEL_KEY: 'scripted-key' },
      config: `runtimes: { ${runtime}: { bin: "${bin}", endpoint: "${server.url}", apiKey: "env:MODEL_KEY", model: scripted-model } }`,
    });
    const trusted = await project.caisson('trust', '--yes', '--send-key', server.url);
    expect([trusted.code, trusted.stderr]).toEqual([0, '']);
    const run = await project.run('--runtime', runtime, 'write new.txt');
    expect([run.status, run.reply]).toEqual(['done', 'written']);
    expect((await project.caisson('diff', run.runId)).stdout).toContain('\n+hello\n');
  });
});

/** Owners of a folder and everything in it. */
function ownersBelow(folder: string): number[] {
  const entries = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return [
    ...new Set([folder, ...entries.map((name) => join(folder, name))].map((path) => lstatSync(path).uid)),
  ];
}
