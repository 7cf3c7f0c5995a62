/**
 * A state folder that the user's own Caisson did not make is not opened, wherever it comes from and whatever is in it.
 */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { createCaisson } from 'caisson';
import { describe, expect, onTestFinished, test } from 'vitest';
import { adoptStateFolder, loadConfig } from '../../packages/engine/src/index.ts';
import { openLedger } from '../../packages/engine/src/ledger/index.ts';
import { createProject, finish, makeState, type Project } from './project.ts';
import { caissonAs, isRoot, STRANGER } from './users.ts';

const LIMIT_MS = 120_000;
const RUN = 'run_00000000000000000001';
/** Commands of every kind: they read, they act, they end a detached start. */
const COMMANDS = [
  ['runs'],
  ['gc'],
  ['questions'],
  ['budget'],
  ['board', '--session', 'x'],
  ['show', 'latest'],
  ['apply', 'latest'],
  ['run', '--', 'true'],
  ['run', '--detach', '--', 'true'],
  ['host', RUN],
  ['agents', 'list'],
];

const MAKES_STATE = ['board', '--session', 'x', 'set', 'key', '1'];

const REFUSED = /^error: the state folder \S+ .*--state-dir/;

/** The attack of an interrupted apply: what `kept/0` holds is moved to any place that the plan names. */
function plantPlan(state: string, root: string, path: string): void {
  const folder = join(state, 'tmp/apply-x');
  mkdirSync(join(folder, 'kept'), { recursive: true });
  writeFileSync(join(folder, 'kept/0'), '#!/bin/sh\necho owned\n', { mode: 0o755 });
  const entries = [{ path, wasThere: true, after: null }];
  writeFileSync(join(folder, 'plan.json'), JSON.stringify({ schemaVersion: 1, root, entries }));
}

/** A ledger with a run of a dead host, so that opening it settles something, and a callback whose key is a program. */
async function plantLedger(state: string, mark: string): Promise<void> {
  mkdirSync(state, { recursive: true });
  const ledger = openLedger(join(state, 'ledger.db'));
  await ledger.append([
    {
      runId: RUN,
      attempt: 0,
      type: 'dispatch.accepted',
      version: 1,
      at: new Date().toISOString(),
      trace: '0'.repeat(32),
      data: {
        task: { id: RUN, description: 'x', priority: 5 },
        runtime: 'command',
        host: 'host_dead',
        grant: {
          mode: 'suggest',
          read: [],
          write: [],
          hosts: [],
          tools: [],
          limits: {},
          budget: {},
          depth: 0,
          sandbox: 'bwrap',
        },
        resolved: { capabilities: [], env: [], model: { requested: '', served: [] } },
      },
    },
  ]);
  const endpoint = { url: 'http://127.0.0.1:1/', key: `exec:touch ${mark}`, when: ['dispatch.failed'] };
  ledger.kv.set('callback-outbox', 'a', {
    id: 'a',
    runId: RUN,
    attempt: 0,
    trace: '',
    event: 'dispatch.failed',
    seq: 1,
    endpoint,
    body: '{}',
    queuedAtMs: Date.now(),
    dueAtMs: 0,
    tries: 0,
  });
  await ledger.close();
}

const baseOf = (project: Project): string => dirname(project.root);

/** As `caisson trust` does once the user has agreed. */
async function adopt(project: Project): Promise<void> {
  adoptStateFolder(await loadConfig({ cwd: project.root, env: project.env }));
}

describe('a planted state folder', { timeout: LIMIT_MS }, () => {
  test('with the plan of an apply writes nothing, whatever the command', async () => {
    const project = createProject();
    const elsewhere = join(baseOf(project), 'elsewhere');
    mkdirSync(elsewhere);
    const state = join(project.root, '.caisson');
    plantPlan(state, elsewhere, 'login.sh');
    chmodSync(state, 0o700);
    for (const line of COMMANDS) {
      const { code, stderr } = await project.caisson(...line);
      expect([line, code, stderr]).toEqual([line, 4, expect.stringMatching(REFUSED)]);
    }
    await expect(createCaisson({ cwd: project.root })).rejects.toMatchObject({ code: 'TRUST_REQUIRED' });
    expect(readdirSync(elsewhere)).toEqual([]);
    expect(readdirSync(state)).toEqual(['tmp']);
  });

  test('with a ledger runs no program that a callback of it names', async () => {
    const project = createProject();
    const mark = join(baseOf(project), 'owned');
    const state = join(project.root, '.caisson');
    await plantLedger(state, mark);
    chmodSync(state, 0o700);
    for (const line of COMMANDS) expect((await project.caisson(...line)).code).toBe(4);
    expect(existsSync(mark)).toBe(false);
  });

  test('in a clone is refused because git tracks it, also as a submodule and after it was removed from disk', async () => {
    const project = createProject();
    plantPlan(join(project.root, '.caisson'), project.root, '.git/hooks/pre-commit');
    project.git('add', '-f', '.caisson');
    project.git('commit', '-qm', 'hostile');
    const clone = join(baseOf(project), 'clone');
    project.git('clone', '-q', project.root, clone);
    chmodSync(join(clone, '.caisson'), 0o700);
    const say = async () => (await caissonAs({ cwd: clone, env: project.env }, 'runs', '-o', 'json')).stdout;
    expect(JSON.parse(await say())).toMatchObject({
      error: {
        code: 'STATE_REFUSED',
        message: expect.stringContaining('git tracks .caisson/tmp/apply-x') as string,
      },
    });
    expect(existsSync(join(clone, '.git/hooks/pre-commit'))).toBe(false);
    rmSync(join(clone, '.caisson'), { recursive: true });
    expect(await say()).toContain('git tracks .caisson/tmp/apply-x');
    const inClone = (...args: string[]) => execFileSync('git', args, { cwd: clone, env: project.env });
    inClone('rm', '-rq', '--cached', '.caisson');
    inClone(
      'update-index',
      '--add',
      '--cacheinfo',
      `160000,${project.git('rev-parse', 'HEAD').trim()},.caisson`,
    );
    expect(await say()).toContain('git tracks .caisson');
    inClone('rm', '-q', '--cached', '.caisson');
    expect(JSON.parse(await say())).toEqual([]);
  });

  test.each([
    ['version 4', ['update-index', '--index-version', '4']],
    ['a split one', ['update-index', '--split-index']],
  ])('is found in an index of another form: %s', async (_form, change) => {
    const project = createProject();
    for (let number = 0; number < 40; number += 1) project.write(`.cais${number}/file`, 'x');
    project.write('.caisson/store/x', 'x');
    project.git('add', '-f', '.');
    project.git(...change);
    project.git('commit', '-qm', 'all');
    expect((await project.caisson('runs')).stderr).toContain('git tracks .caisson/store/x');
    project.git('rm', '-rqf', '.caisson');
    project.git('update-index', '--no-split-index');
    expect(await project.caisson('runs')).toMatchObject({ code: 0 });
  });

  test('that is a link, or lies behind one, is refused', async () => {
    const project = createProject();
    const other = join(baseOf(project), 'other');
    mkdirSync(other, { mode: 0o700 });
    symlinkSync(other, join(project.root, '.caisson'));
    expect((await project.caisson('runs')).stderr).toContain('.caisson is a link');
    expect(await project.caisson('runs', '--state-dir', '.caisson/inner')).toMatchObject({ code: 4 });
    expect(readdirSync(other)).toEqual([]);
    // Outside of the project a link is the user's own way to name a folder.
    symlinkSync(other, join(baseOf(project), 'named'));
    expect(await project.caisson('runs', '--state-dir', join(baseOf(project), 'named'))).toMatchObject({
      code: 0,
    });
  });

  test('in a sub-folder, as a patch may leave one, does not become the project', async () => {
    const project = createProject({ config: 'mode: suggest\n' });
    const mark = join(baseOf(project), 'owned');
    await plantLedger(join(project.root, 'sub/.caisson'), mark);
    plantPlan(join(project.root, 'sub/.caisson'), project.root, '.git/hooks/pre-commit');
    chmodSync(join(project.root, 'sub/.caisson'), 0o700);
    const inSub = { cwd: join(project.root, 'sub'), env: project.env };
    for (const line of [...COMMANDS, ['config'], ['policy', 'check', '--', 'ls'], ['runtimes']]) {
      const { code, stderr } = await caissonAs(inSub, ...line);
      expect([line, code, stderr]).toEqual([
        line,
        4,
        expect.stringMatching(/^error: \S+\/sub\/\.caisson looks like a state folder.*Remove it/),
      ]);
    }
    expect(existsSync(mark)).toBe(false);
    expect(existsSync(join(project.root, '.git/hooks/pre-commit'))).toBe(false);
    // With the state elsewhere it counts for nothing, and the project's own settings hold.
    const config = await caissonAs(inSub, 'config', 'mode', '--state-dir', join(baseOf(project), 'state'));
    expect(config.stdout).toBe('suggest\n');
    const { code, stdout } = await caissonAs(inSub, 'doctor', '-o', 'json');
    expect([code, stdout]).toEqual([1, expect.stringContaining('looks like a state folder')]);
  });

  test('of a bundle in a sub-folder, which is none, is not taken for one', async () => {
    const project = createProject();
    project.write('bundle/.caisson/setup.sh', 'true\n');
    const { stdout } = await caissonAs(
      { cwd: join(project.root, 'bundle'), env: project.env },
      'config',
      '-o',
      'json',
    );
    expect(JSON.parse(stdout)).toMatchObject({ projectRoot: project.root });
  });

  test('of another user, or that others can write, is refused', async () => {
    const project = createProject();
    const state = makeState(project);
    chmodSync(state, 0o770);
    expect((await project.caisson('runs')).stderr).toContain('other users can write the state folder');
    chmodSync(state, 0o700);
    if (!isRoot) return;
    chownSync(state, STRANGER, STRANGER);
    expect(await project.caisson('runs')).toMatchObject({
      code: 4,
      stderr: expect.stringContaining(`belongs to user ${STRANGER}, and this is user 0`) as string,
    });
    expect((await project.caisson('doctor')).stdout).toContain(`belongs to user ${STRANGER}`);
  });
});

describe('what lies in a state folder of ours', { timeout: LIMIT_MS }, () => {
  test('is not ours by lying there: an unsigned plan is put aside and said, and nothing is written', async () => {
    const project = createProject();
    makeState(project);
    const state = join(project.root, '.caisson');
    plantPlan(state, project.root, '.git/hooks/pre-commit');
    const { code, stderr } = await project.caisson('runs');
    expect([code, stderr]).toEqual([0, expect.stringContaining('nothing was undone')]);
    expect(existsSync(join(project.root, '.git/hooks/pre-commit'))).toBe(false);
    expect(existsSync(join(state, 'trash/apply-x/kept/0'))).toBe(true);
    expect((await project.caisson('runs')).stderr).toBe('');
  });

  test('is refused when a ledger was put in the place of ours, as a pull can do it', async () => {
    const project = createProject();
    await project.run('--', 'true');
    const state = join(project.root, '.caisson');
    const mark = join(baseOf(project), 'owned');
    const foreign = join(baseOf(project), 'foreign');
    await plantLedger(foreign, mark);
    for (const name of readdirSync(state)) if (name.startsWith('ledger.db')) rmSync(join(state, name));
    cpSync(join(foreign, 'ledger.db'), join(state, 'ledger.db'));
    expect(await project.caisson('runs')).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('is not the one that Caisson made') as string,
    });
    expect(existsSync(mark)).toBe(false);
    rmSync(join(state, 'ledger.db'));
    expect(await project.caisson('runs')).toMatchObject({ code: 0 });
  });

  test('is refused when a later commit brings files into it', async () => {
    const project = createProject();
    await project.run('--', 'true');
    const upstream = join(baseOf(project), 'upstream');
    project.git('clone', '-q', project.root, upstream);
    plantPlan(join(upstream, '.caisson'), project.root, '.git/hooks/pre-commit');
    const there = ['-C', upstream];
    project.git(...there, 'add', '-f', '.caisson');
    project.git(...there, 'commit', '-qm', 'hostile');
    project.git('pull', '-q', upstream, 'main');
    expect((await project.caisson('runs')).stderr).toContain('git tracks .caisson/tmp');
    project.git('reset', '-q', '--hard', 'HEAD~1');
    expect(await project.caisson('runs')).toMatchObject({ code: 0 });
    expect(existsSync(join(project.root, '.git/hooks/pre-commit'))).toBe(false);
  });

  test('starts nothing when the request of a background host was planted', async () => {
    const project = createProject();
    makeState(project);
    const mark = join(baseOf(project), 'owned');
    const folder = join(project.root, '.caisson/runtime/background');
    mkdirSync(folder, { recursive: true });
    const request = {
      runId: RUN,
      runtime: 'command',
      argv: ['touch', mark],
      sandbox: 'none',
      workspace: 'empty',
    };
    writeFileSync(join(folder, `${RUN}.json`), JSON.stringify(request));
    expect(await project.caisson('host', RUN)).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('was not written by this Caisson') as string,
    });
    expect(existsSync(mark)).toBe(false);
  });

  test('a planted record of a workspace makes gc move nothing', async () => {
    const project = createProject();
    const run = await project.run('--', 'true');
    const precious = join(baseOf(project), 'precious');
    mkdirSync(precious);
    writeFileSync(join(precious, 'file'), 'mine');
    const folder = join(project.root, '.caisson/worktrees', `${run.runId}.7`);
    mkdirSync(folder, { recursive: true });
    const record = {
      ...{
        schemaVersion: 1,
        kind: 'empty',
        runId: run.runId,
        attempt: 7,
        path: precious,
        mountPath: precious,
      },
      ...{
        cwd: precious,
        projectRoot: precious,
        attemptDir: precious,
        gitDir: precious,
        custodyDir: precious,
      },
      ...{
        isUserRepository: false,
        baselineTree: '4b825dc642cb6eb9a060e54bf8d69288fbee4904',
        exclude: ['file'],
      },
      ...{ baseCommit: null, baselineCommit: null, warnings: [] },
    };
    writeFileSync(join(folder, 'record.json'), JSON.stringify(record));
    await project.caisson('gc', '--older-than', '1ms');
    expect(readFileSync(join(precious, 'file'), 'utf8')).toBe('mine');
  });
});

describe('a state folder of ours', { timeout: LIMIT_MS }, () => {
  test('goes on working in a project that was moved, and is asked about in a copy', async () => {
    const project = createProject();
    const { runId } = await project.run('--', 'true');
    const [moved, copy] = [join(baseOf(project), 'moved'), join(baseOf(project), 'copy')];
    renameSync(project.root, moved);
    expect((await caissonAs({ cwd: moved, env: project.env }, 'runs')).stdout).toContain(runId);
    cpSync(moved, copy, { recursive: true });
    const asked = await caissonAs({ cwd: copy, env: project.env }, 'runs', '-o', 'json');
    expect([asked.code, JSON.parse(asked.stdout)]).toMatchObject([
      4,
      { error: { code: 'TRUST_REQUIRED', remedy: expect.stringContaining('caisson trust') as string } },
    ]);
  });

  test('from before this version is adopted with its runs, and pending deeds of strangers are not', async () => {
    const project = createProject();
    const { runId } = await project.run('--', 'sh', '-c', 'echo x > new');
    rmSync(join(project.root, '.caisson/id'));
    expect(await project.caisson('runs')).toMatchObject({ code: 4 });
    plantPlan(join(project.root, '.caisson'), project.root, '.git/hooks/pre-commit');
    await adopt(project);
    const listed = await project.caisson('runs');
    expect([listed.stdout, listed.stderr]).toEqual([
      expect.stringContaining(runId),
      expect.stringContaining('nothing was undone'),
    ]);
    expect((await project.caisson('apply', runId)).code).toBe(0);
    expect(existsSync(join(project.root, '.git/hooks/pre-commit'))).toBe(false);
  });

  test('is private, ignores itself, and keeps its secret in a file of the user alone', async () => {
    const project = createProject();
    await project.caisson(...MAKES_STATE);
    const states = join(project.env['HOME'] ?? '', '.local/state/caisson/states');
    const [marker = ''] = readdirSync(states);
    const modes = [join(project.root, '.caisson'), states, join(states, marker)].map(
      (path) => statSync(path).mode & 0o777,
    );
    expect(modes).toEqual([0o700, 0o700, 0o600]);
    expect(project.git('status', '--porcelain')).toBe('');
    const { secret } = JSON.parse(readFileSync(join(states, marker), 'utf8')) as { secret: string };
    expect(secret).toMatch(/^[0-9a-f]{64}$/);
    expect((await project.caisson('config', '-o', 'json')).stdout).not.toContain(secret);
  });

  test('is made once by many commands at the same time', async () => {
    const project = createProject();
    const all = await Promise.all(Array.from({ length: 8 }, () => project.caisson(...MAKES_STATE)));
    expect(all.map(({ code, stderr }) => [code, stderr])).toEqual(all.map(() => [0, '']));
    const states = join(project.env['HOME'] ?? '', '.local/state/caisson/states');
    expect(readdirSync(states).length).toBe(1);
  });

  test('can be read with a home that is read-only, and making one says what to set', async () => {
    if (!isRoot) return;
    const project = createProject();
    const home = project.env['HOME'] ?? '';
    const { runId } = await project.run('--', 'true');
    execFileSync('mount', ['--bind', home, home]);
    onTestFinished(() => void execFileSync('umount', ['--lazy', home]));
    execFileSync('mount', ['-o', 'remount,bind,ro', home]);
    expect((await project.caisson('show', runId)).code).toBe(0);
    const other = join(baseOf(project), 'other');
    const refused = await project.caisson(...MAKES_STATE, '--state-dir', other);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringMatching(/EROFS.*Set XDG_STATE_HOME/)]);
    expect(existsSync(other)).toBe(false);
    const elsewhere = { ...project.env, XDG_STATE_HOME: join(baseOf(project), 'xdg') };
    expect(
      await caissonAs({ cwd: project.root, env: elsewhere }, ...MAKES_STATE, '--state-dir', other),
    ).toMatchObject({
      code: 0,
    });
  });
});

test(
  'an apply of ours that died in a project that was moved since is undone where the project is now',
  { timeout: LIMIT_MS },
  async () => {
    const project = createProject();
    const { runId } = await project.run(
      '--',
      'sh',
      '-c',
      'for n in $(seq 1500); do echo new > file$n.txt; done',
    );
    const tmp = join(project.root, '.caisson/tmp');
    const isAtWork = (): boolean =>
      existsSync(tmp) && readdirSync(tmp).some((name) => existsSync(join(tmp, name, 'plan.json')));
    while (!isAtWork()) {
      const apply = project.start('apply', runId);
      const applied = finish(apply);
      while (apply.exitCode === null && !isAtWork()) await new Promise((resolve) => setImmediate(resolve));
      apply.kill('SIGKILL');
      await applied;
      if (!isAtWork()) project.git('clean', '-fdq'); // it was too fast for us
    }
    const moved = join(baseOf(project), 'moved');
    renameSync(project.root, moved);
    const shown = await caissonAs({ cwd: moved, env: project.env }, 'runs');
    expect(shown.stderr).toContain('note: an interrupted apply was undone: 1500 paths');
    expect(existsSync(project.root)).toBe(false);
    expect(readdirSync(moved).filter((name) => name.startsWith('file'))).toEqual([]);
  },
);
