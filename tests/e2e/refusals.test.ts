/** A sandbox that cannot be built refuses the run and says what to do; it never becomes a weaker one. */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createProject, finish, ROOT, type CliRun, type Project } from './project.ts';

const BIN = join(ROOT, 'packages/cli/bin/caisson.js');

/** Commands that read, or need an earlier run. */
const NEEDS_AN_EARLIER_RUN = [
  ...['continue more', 'retry --detach latest', 'answer latest yes', 'send latest hi', 'approve latest'],
  ...['runs', 'show', 'du', 'gc --all --older-than 0s', 'budget', 'questions', 'completion --words runs'],
  ...['agents list', 'board --session s remove k', 'board --session s reset'],
];

/** Runs the CLI in a namespace of its own, after a change that holds only there. */
function caissonAfter(
  project: Project,
  unshare: string[],
  change: string,
  ...args: string[]
): Promise<CliRun> {
  const script = `${change} && exec "$0" "$@"`;
  const child = spawn('unshare', [...unshare, 'sh', '-c', script, process.execPath, BIN, ...args], {
    cwd: project.root,
    env: project.env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return finish(child);
}

const withoutBwrap = (project: Project, ...args: string[]) =>
  caissonAfter(
    project,
    ['-Urm'],
    'for f in /usr/bin/bwrap /bin/bwrap /usr/local/bin/bwrap; do [ ! -e $f ] || mount --bind /dev/null $f; done',
    ...args,
  );
const withoutUserNamespaces = (project: Project, ...args: string[]) =>
  caissonAfter(project, ['-Ur'], 'echo 0 > /proc/sys/user/max_user_namespaces', ...args);

it('refuses a run where bubblewrap is missing, and names the package', async () => {
  const { code, stderr } = await withoutBwrap(createProject(), 'run', '--', 'true');
  expect(code).toBe(1);
  expect(stderr).toMatch(/bubblewrap/);
  expect(stderr).toMatch(/--sandbox none/);
});

it('refuses a run where user namespaces are not to be had, and says what to do', async () => {
  const { code, stderr } = await withoutUserNamespaces(createProject(), 'run', '--', 'true');
  expect(code).toBe(1);
  expect(stderr).toMatch(/no sandbox is possible here/);
  expect(stderr).toMatch(/--sandbox none/);
});

it('records the refusal, and no run', async () => {
  const project = createProject();
  await withoutUserNamespaces(project, 'run', '--', 'true');
  expect(JSON.parse((await project.caisson('runs', '-o', 'json')).stdout)).toEqual([]);
});

it('leaves nothing behind where there was nothing: no state folder, ref, worktree or record', async () => {
  const project = createProject({ config: 'agents: { mine: { runtime: command } }\n' });
  const before = [project.git('for-each-ref'), project.git('worktree', 'list'), listFiles(project)];
  const lines = [
    ['--runtime', 'codex', 'x'],
    ['x'],
    ['--mode', 'nosuch', '--', 'true'],
    ['--base', 'nosuch', '--', 'true'],
    ['--agent', 'nosuch', 'x'],
    ['--agent', 'mine', '--input', 'a=missing', 'x'],
    ['--detach', '--sandbox', 'none', '--network', 'none', '--', 'true'],
  ];
  for (const line of lines) {
    const { code } = await project.caisson('run', ...line);
    const after = [project.git('for-each-ref'), project.git('worktree', 'list'), listFiles(project)];
    expect({ line, code: code === 0, after }).toEqual({ line, code: false, after: before });
  }
  project.write('caisson.yaml', 'workspace: { setup: "true" }\n');
  expect((await finish(project.start('run', '--', 'true'))).code).toBe(4); // nobody agreed to it
  expect(listFiles(project)).toEqual(before[2]);
});

it('answers without a state folder, and makes none, where a command reads or needs an earlier run', async () => {
  const project = createProject();
  const before = listFiles(project);
  for (const line of NEEDS_AN_EARLIER_RUN) {
    const { stderr } = await project.caisson(...line.split(' '));
    expect(stderr).not.toContain('ENOENT');
    expect({ line, files: listFiles(project) }).toEqual({ line, files: before });
  }
});

it('leaves nothing in the folder for temporary files after gc, when a first run was killed as it was checked', async () => {
  const project = createProject();
  const temporary = join(project.root, '../tmp');
  mkdirSync(temporary);
  project.env['TMPDIR'] = temporary;
  const left = mkdtempSync(join(temporary, 'caisson-rehearsal-'));
  utimesSync(left, 0, 0);
  await project.caisson('gc');
  expect(readdirSync(temporary)).toEqual([]);
});

/** The project, and what Caisson keeps of this user. */
const listFiles = ({ root, env }: Project): string[] =>
  [root, join(env['HOME'] ?? '', '.local')].flatMap((folder) =>
    existsSync(folder) ? readdirSync(folder).filter((name) => name !== '.git') : [],
  );

it('refuses a worktree where there is no repository, before there is a run', async () => {
  const project = createProject({ git: false });
  const { code, stderr } = await project.caisson('run', '--workspace', 'worktree', '--', 'true');
  expect(code).toBe(2);
  expect(stderr).toMatch(/is not in a git repository.*git init/s);
  expect(JSON.parse((await project.caisson('runs', '-o', 'json')).stdout)).toEqual([]);
});

it('runs without a sandbox only when that is said by name, and records it', async () => {
  const project = createProject();
  const { code, stdout } = await withoutUserNamespaces(
    project,
    'run',
    '-o',
    'json',
    '--sandbox',
    'none',
    '--',
    'echo',
    'open',
  );
  expect(code).toBe(0);
  const result = JSON.parse(stdout) as { result: { policy: { grant: unknown; enforced: unknown } } };
  expect(result.result.policy).toMatchObject({
    grant: { sandbox: 'none', hosts: ['*'] },
    enforced: { kind: 'none', network: 'host' },
  });
});

it.each([
  ['none is asked for', ['--network', 'none'], ''],
  ['some hosts are asked for', ['--network', 'hosts=registry.example:443'], ''],
  ['the project grants some hosts', [], "network: { hosts: ['registry.example:443'] }\n"],
])('refuses a network that only a sandbox could limit: %s', async (_what, options, config) => {
  const project = createProject({ config });
  const open = ['--sandbox', 'none', ...options];
  const refused = await project.caisson('run', ...open, '--', 'true');
  expect([refused.code, refused.stderr]).toEqual([4, expect.stringContaining('network-enforced')]);
  expect(refused.stderr).toContain('--network full');
  const allowed = await project.run('--sandbox', 'none', '--network', 'full', '--', 'echo', 'open');
  expect(allowed).toMatchObject({ stdout: 'open\n', result: { policy: { grant: { hosts: ['*'] } } } });
  expect((await project.caisson('show', allowed.runId)).stdout).toContain('sandbox none, hosts *');
});

it('refuses a limit that was asked for and cannot be held', async () => {
  const project = createProject();
  const hideCgroups = 'mount -t tmpfs none /sys/fs/cgroup';
  const { code, stdout } = await caissonAfter(
    project,
    ['-m'],
    hideCgroups,
    'run',
    '-o',
    'json',
    '--memory',
    '1g',
    '--',
    'true',
  );
  expect(JSON.parse(stdout)).toMatchObject({ failure: { reason: 'policy-denied' } });
  expect(code).toBe(4);
});

it('runs with the default limits where they cannot be held, and records that they were not', async () => {
  const project = createProject();
  const hideCgroups = 'mount -t tmpfs none /sys/fs/cgroup';
  const { code, stdout } = await caissonAfter(
    project,
    ['-m'],
    hideCgroups,
    'run',
    '-o',
    'json',
    '--',
    'true',
  );
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ result: { policy: { enforced: { cgroup: false } } } });
});

it.each([
  ['ful-auto', /full-auto/],
  ['SUGGEST', /suggest/],
])('refuses the mistyped mode %s and suggests the right one', async (mode, meant) => {
  const { code, stderr } = await createProject().caisson('run', '--mode', mode, '--', 'true');
  expect(code).toBe(2);
  expect(stderr).toMatch(meant);
});

it.each([
  ['leaves the folder', ['../x=a.txt'], /cannot be the key of an input/],
  ['is a path', ['a/b=a.txt'], /cannot be the key of an input/],
  ['is given twice', ['k=a.txt', 'k=b.txt'], /twice/],
])('refuses an input whose key %s, before there is a run', async (_title, inputs, says) => {
  const project = createProject();
  project.write('a.txt', 'a');
  const options = inputs.flatMap((input) => ['--input', input]);
  const { code, stderr } = await project.caisson('run', ...options, '--', 'true');
  expect(code).toBe(2);
  expect(stderr).toMatch(says);
  expect(JSON.parse((await project.caisson('runs', '-o', 'json')).stdout)).toEqual([]);
});

it.each([
  [['register'], /needs --from/],
  [['register', '--from', 'team'], /agent helper is not valid/],
  [['register', '--from', 'nothing'], /declares nothing/],
  [['agents', 'register', 'helper', 'team/agents/helper.yaml'], /agent helper is not valid/],
  [['capabilities', 'register', 'UPPER', 'team'], /cannot be a name/],
])('makes no state folder for %j, which registers nothing', async (line, says) => {
  const project = createProject();
  project.write('team/agents/helper.yaml', 'nosuch: 1\n');
  const { code, stderr } = await project.caisson(...line);
  expect([code === 0, stderr]).toEqual([false, expect.stringMatching(says)]);
  expect(existsSync(join(project.root, '.caisson'))).toBe(false);
});

it('refuses more capabilities than a worker lays over a workspace', async () => {
  const project = createProject({ config: 'capabilities: { rules: ./rules }\n' });
  project.write('rules/RULES.md', 'Be kind.\n');
  const options = Array.from({ length: 65 }, () => ['--capability', 'rules']).flat();
  const { code, stderr } = await project.caisson('run', ...options, '--', 'true');
  expect(code).toBe(2);
  expect(stderr).toMatch(/65 capabilities are too many; at most 64/);
});

it.each([
  [['--base', 'nosuch'], /"nosuch" names no commit/],
  [['--base='], /"" names no commit/],
  [['--base', 'HEAD', '--workspace', 'empty'], /only a worktree starts from a commit/],
  [['--scope='], /a pattern of the scope is empty/],
  [['--tool='], /the name of a tool is empty/],
  [['--accept='], /the acceptance text is empty/],
])('refuses %j as a mistake of the caller, with a remedy and without a run', async (options, message) => {
  const project = createProject();
  const { code, stderr } = await project.caisson('run', ...options, '--', 'true');
  expect(code).toBe(2);
  expect(stderr).toMatch(message);
  expect(stderr).toMatch(/Leave|Use/);
  expect((await project.caisson('runs', '-o', 'json')).stdout.trim()).toBe('[]');
});
