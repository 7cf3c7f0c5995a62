import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { createWorkspaces, type PreparedWorkspace } from './index.ts';
import { moveToTrash } from './trash.ts';
import {
  captureProven,
  createScratchProject,
  gitIn,
  STAMP,
  writePlannedBranch,
  type ScratchProject,
} from './scratch-project-stage.ts';

let project: ScratchProject;
beforeEach(() => {
  project = createScratchProject();
  project.write('.gitignore', 'build\n');
  project.write('a.txt', 'one\n');
  project.commit('first');
});
afterEach(() => project.dispose());

const inWorkspace = (prepared: PreparedWorkspace, ...args: string[]): string =>
  gitIn(prepared.path, project.home, ...args);

/** Every file below the folder. */
const listAll = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .toSorted();

/** Runs a shell command as the sandbox shows the workspace. */
function inSandbox(prepared: PreparedWorkspace, command: string): string {
  const { agentGit } = prepared;
  if (agentGit === undefined) throw new Error('the workspace has no git for the agent');
  const objects = agentGit.objects.flatMap(({ source, target }) => ['--ro-bind', source, target]);
  const readOnly = agentGit.readOnly.flatMap((name) => [
    '--ro-bind',
    join(agentGit.source, name),
    join(agentGit.target, name),
  ]);
  const binds = ['--bind', prepared.path, prepared.mountPath, '--bind', agentGit.source, agentGit.target];
  const view = [
    '--ro-bind',
    '/',
    '/',
    '--dev',
    '/dev',
    '--tmpfs',
    project.base,
    ...binds,
    ...objects,
    ...readOnly,
  ];
  const env = { PATH: '/usr/bin:/bin', HOME: '/nonexistent' };
  const other = ['--unshare-user', '--uid', '4242', '--gid', '4242']; // files look like another user's
  return execFileSync(
    'bwrap',
    [...view, '--chdir', prepared.cwd, '--unshare-pid', ...other, '--die-with-parent', 'sh', '-ec', command],
    { env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] },
  );
}

describe('beside a git gc of the user’s', () => {
  const dropLoose = (): void => void project.git('gc', '--prune=now', '--quiet');

  it('work whose objects were dropped after they were staged is written again', async () => {
    project.write('folder [1]/b.txt', 'user\n');
    const prepared = await project.prepare();
    for (const name of ['a.txt', 'new.txt', 'folder [1]/b.txt', ':(top)odd'])
      writeFileSync(join(prepared.path, name), `work in ${name}\n`);
    await captureProven(prepared); // as a worker does, long before the checkpoint
    dropLoose();
    const saved = await project.workspaces.checkpoint(prepared);
    expect(saved?.warnings).toEqual([]);
    for (const name of ['a.txt', 'new.txt', 'folder [1]/b.txt', ':(top)odd'])
      expect(project.git('show', `${saved?.ref}:${name}`)).toBe(`work in ${name}`);
    expect(project.git('fsck', '--strict')).not.toContain('missing');
  });

  /** Runs it again and again beside `work`. */
  async function beside(chore: string, work: () => Promise<void>): Promise<void> {
    const cleaner = spawn('sh', ['-c', `while :; do ${chore}; done`], {
      cwd: project.root,
      stdio: 'ignore',
      detached: true,
    });
    try {
      await work();
    } finally {
      process.kill(-(cleaner.pid ?? 0), 'SIGKILL');
      await once(cleaner, 'close');
    }
  }

  it('checkpoints are whole while one runs again and again', async () => {
    await beside('git gc --prune=now --quiet; git repack -adq', async () => {
      for (let attempt = 1; attempt <= 4; attempt += 1) {
        const prepared = await project.prepare({ attempt });
        writeFileSync(join(prepared.path, 'new.txt'), `work ${attempt}\n`);
        inSandbox(prepared, `git add new.txt; git commit -qm 'mine ${attempt}'`);
        const saved = await project.workspaces.checkpoint(prepared);
        expect(project.git('show', `${saved?.ref}:new.txt`)).toBe(`work ${attempt}`);
        expect(project.git('log', '-1', '--format=%s', saved?.heads[0] ?? '')).toBe(`mine ${attempt}`);
      }
    });
  }, 60_000);

  it('a workspace begins with what the user has not committed while objects are pruned again and again', async () => {
    await beside('git prune --expire=now', async () => {
      for (let run = 1; run <= 6; run += 1) {
        for (let file = 0; file < 20; file += 1) project.write(`new/${file}.txt`, `${run} ${file}\n`);
        const prepared = await project.prepare();
        expect(readFileSync(join(prepared.path, 'new/19.txt'), 'utf8')).toBe(`${run} 19\n`);
        expect(project.git('show', `${prepared.baselineTree}:new/0.txt`)).toBe(`${run} 0`);
      }
    });
    expect(
      readdirSync(join(project.root, '.git/objects/pack')).filter((name) => name.endsWith('.keep')),
    ).toEqual([]);
  }, 60_000);
});

describe('the agent’s git', () => {
  it('shows the user’s branch, history and identity, can commit, and cannot reach the user’s repository', async () => {
    project.git('tag', 'v1');
    project.write('a.txt', 'uncommitted\n');
    const before = project.snapshot();
    const prepared = await project.prepare();
    const said = inSandbox(
      prepared,
      'git fsck --connectivity-only --no-dangling 2>&1; git branch --show-current; git tag; git log --format=%s; git diff --stat; echo two > b.txt; git add b.txt; git commit -qm mine; git log -1 --format="%an %s"',
    );
    expect(said.split('\n')).toEqual(['main', 'v1', 'first', 'Ada mine', '']);
    const refusals =
      'git config user.name Eve && exit 1; echo x > .git/hooks/pre-commit && exit 1; touch .git/borrowed/0/x && exit 1; mv .git elsewhere && exit 1; true';
    expect(() => inSandbox(prepared, refusals)).not.toThrow();
    expect(project.snapshot()).toEqual(before);

    const saved = await project.workspaces.checkpoint(prepared);
    expect(saved?.warnings).toEqual([]);
    expect(saved?.heads).toEqual([`refs/caisson/${prepared.runId}/heads/1/main`]);
    expect(project.git('log', '--format=%s', saved?.heads[0] ?? '')).toBe('mine\nfirst');
    expect(project.git('show', `${saved?.ref}:a.txt`)).toBe('uncommitted');
    expect(project.git('fsck', '--strict')).not.toContain('missing');
    expect(project.snapshot()).toEqual(before);
  });

  it('works by links when there is no sandbox', async () => {
    const prepared = await project.prepare({ sandboxed: false });
    expect([prepared.mountPath, prepared.agentGit, inWorkspace(prepared, 'status', '--porcelain')]).toEqual([
      prepared.path,
      undefined,
      '',
    ]);
    writeFileSync(join(prepared.path, 'b.txt'), 'x');
    inWorkspace(prepared, 'switch', '-qc', 'side');
    inWorkspace(prepared, 'add', '.');
    inWorkspace(prepared, 'commit', '-qm', 'mine');
    expect((await captureProven(prepared)).files.map((file) => file.path)).toEqual(['b.txt']);
    expect((await project.workspaces.checkpoint(prepared))?.heads).toEqual([
      `refs/caisson/${prepared.runId}/heads/1/side`,
    ]);
  });

  it('is not believed: tampered refs, alternates and links save nothing of other repositories', async () => {
    const other = join(project.base, 'other');
    mkdirSync(other);
    gitIn(other, project.home, 'init', '-q');
    writeFileSync(join(other, 'secret'), 'secret');
    gitIn(other, project.home, 'add', '.');
    gitIn(other, project.home, 'commit', '-qm', 'secret');
    const secret = gitIn(other, project.home, 'rev-parse', 'HEAD');
    const prepared = await project.prepare({ sandboxed: false });
    const agentGit = join(prepared.attemptDir, 'agent-git');
    writeFileSync(join(agentGit, 'refs/heads/stolen'), `${secret}\n`);
    writeFileSync(join(agentGit, 'refs/heads/bad..name'), `${secret}\n`);
    symlinkSync(join(other, '.git/refs/heads/main'), join(agentGit, 'refs/heads/linked'));
    writeFileSync(join(agentGit, 'objects/info/alternates'), `${join(other, '.git/objects')}\n`, {
      flag: 'a',
    });
    writeFileSync(join(prepared.path, 'kept.txt'), 'x');
    const saved = await project.workspaces.checkpoint(prepared);
    expect(saved).toMatchObject({
      heads: [],
      warnings: [expect.stringContaining('borrow from somewhere else')],
    });
    expect(project.git('show', `${saved?.ref}:kept.txt`)).toBe('x');
    expect(() => project.git('cat-file', '-e', secret)).toThrow();
    writeFileSync(join(agentGit, 'objects/info/alternates'), '../borrowed/0\n');
    expect(await project.workspaces.checkpoint(prepared)).toMatchObject({
      heads: [],
      warnings: [expect.stringContaining('could not be saved')],
    });
  });

  it.each([
    ['a linked pack folder', 'rm -rf .git/objects/pack; ln -s "$OTHER/pack" .git/objects/pack'],
    [
      'a borrowed folder put in place of the mounted one',
      'mv .git/borrowed .git/away; mkdir .git/borrowed; ln -s "$OTHER" .git/borrowed/0',
    ],
    [
      'a foreign borrowed folder',
      'ln -s "$OTHER" .git/borrowed/7; echo ../borrowed/7 > .git/objects/info/alternates',
    ],
  ])('saves nothing of another repository through %s', async (_name, trick) => {
    const other = join(project.base, 'other');
    mkdirSync(other);
    gitIn(other, project.home, 'init', '-q');
    writeFileSync(join(other, 'secret'), 'secret');
    gitIn(other, project.home, 'add', '.');
    gitIn(other, project.home, 'commit', '-qm', 'secret');
    gitIn(other, project.home, 'repack', '-adq');
    const secret = gitIn(other, project.home, 'rev-parse', 'HEAD');
    const prepared = await project.prepare();
    inSandbox(
      prepared,
      `OTHER=${join(other, '.git/objects')}; ${trick}; echo ${secret} > .git/refs/heads/stolen`,
    );

    const saved = await project.workspaces.checkpoint(prepared);

    expect(saved).toMatchObject({
      heads: [],
      warnings: [expect.stringContaining('borrow from somewhere else')],
    });
    expect(() => project.git('cat-file', '-e', secret)).toThrow();
  });

  it.each(['.git/packed-refs', '.git/objects/info/alternates', '.git/HEAD'])(
    'is not held up by a pipe at %s',
    async (path) => {
      const prepared = await project.prepare();
      inSandbox(prepared, `echo x > new.txt; git add .; git commit -qm mine; rm -f ${path}; mkfifo ${path}`);

      expect(await project.workspaces.checkpoint(prepared)).not.toBeNull();
    },
    10_000,
  );

  it('does not walk through a link among its branches', async () => {
    const prepared = await project.prepare();
    inSandbox(prepared, 'echo x > new.txt; ln -s / .git/refs/heads/root');

    expect(await project.workspaces.checkpoint(prepared)).toMatchObject({ heads: [] });
  }, 10_000);
});

describe('checkpoint', () => {
  it('holds outputs and deletions, is not made when nothing changed, and may be repeated', async () => {
    const prepared = await project.prepare();
    const head = project.git('rev-parse', 'HEAD');
    expect(await project.workspaces.checkpoint(prepared)).toBeNull();
    expect(project.git('for-each-ref', 'refs/caisson')).toBe('');
    mkdirSync(join(prepared.path, 'outputs'));
    writeFileSync(join(prepared.path, 'outputs/report'), 'r');
    rmSync(join(prepared.path, 'a.txt'));
    const again = await project.workspaces.checkpoint(prepared);
    expect(project.git('diff', '--name-status', head, again?.commit ?? '')).toBe(
      'D\ta.txt\nA\toutputs/report',
    );
    expect(await project.workspaces.checkpoint(prepared)).toMatchObject({ tree: again?.tree });
  });

  it('never leaves half a note of the saved heads, which a second try would have to believe', async () => {
    const prepared = await project.prepare();
    inSandbox(prepared, 'echo two > b.txt; git add b.txt; git commit -qm mine');
    const note = join(prepared.attemptDir, 'saved-heads');
    writeFileSync(note, '[]');
    linkSync(note, join(prepared.attemptDir, 'older')); // another name of the same bytes
    const saved = await project.workspaces.checkpoint(prepared);
    expect(JSON.parse(readFileSync(note, 'utf8'))).toMatchObject([
      ['refs/heads/main', { saved: { ref: saved?.heads[0] } }],
    ]);
    expect(readFileSync(join(prepared.attemptDir, 'older'), 'utf8')).toBe('[]'); // replaced, not written into
  });

  it('keeps what the user had not committed, also when the agent changed nothing', async () => {
    project.write('a.txt', 'uncommitted\n');
    const prepared = await project.prepare();
    expect(await project.workspaces.checkpoint(prepared)).toBeNull();
    expect(project.git('show', `refs/caisson/${prepared.runId}/base/1:a.txt`)).toBe('uncommitted');
  });

  it('keeps a commit of the agent that changes no file', async () => {
    const prepared = await project.prepare();
    inSandbox(prepared, 'git commit -q --allow-empty -m mine');
    const saved = await project.workspaces.checkpoint(prepared);
    expect(project.git('log', '-1', '--format=%s', saved?.heads[0] ?? '')).toBe('mine');
  });

  it('plans the branch asked for; writing it is a step of its own, can be repeated, and never moves another', async () => {
    const prepared = await project.prepare({ branch: 'worker/one' });
    writeFileSync(join(prepared.path, 'b.txt'), 'x');
    const saved = await project.workspaces.checkpoint(prepared);
    const commit = saved?.branch?.commit ?? '';
    expect(saved?.branch).toEqual({ name: 'worker/one', commit, isHeld: false });
    const pin = `refs/caisson/${prepared.runId}/branch/1`;
    expect(project.git('rev-parse', pin)).toBe(commit);
    expect(project.git('branch', '--list', 'worker/one')).toBe('');
    expect(await writePlannedBranch(project, prepared, saved)).toEqual({ kind: 'created', commit });
    expect(project.git('rev-parse', 'worker/one')).toBe(commit);
    expect(project.git('for-each-ref', pin)).toBe('');
    // A host died before it could record it: the new commit differs only in its time.
    const later = { ...process.env, GIT_COMMITTER_DATE: '2001-01-01T00:00:00Z' };
    const twin = execFileSync(
      'git',
      [
        'commit-tree',
        `${saved?.tree}`,
        '-p',
        'main',
        '-m',
        project.git('log', '-1', '--format=%B', 'worker/one'),
      ],
      { cwd: project.root, env: { ...later, HOME: project.home }, encoding: 'utf8' },
    ).trim();
    const again = { ...saved, branch: { name: 'worker/one', commit: twin, isHeld: false } };
    expect(await writePlannedBranch(project, prepared, again)).toEqual({ kind: 'created', commit });

    writeFileSync(join(prepared.path, 'b.txt'), 'y');
    const second = await project.workspaces.checkpoint(prepared);
    expect(await writePlannedBranch(project, prepared, second)).toMatchObject({
      kind: 'taken',
      by: { name: 'worker/one' },
    });
    expect(project.git('rev-parse', 'worker/one')).toBe(commit);
    expect(await writePlannedBranch(project, prepared, second, commit)).toMatchObject({
      kind: 'created',
    });
    expect(project.git('show', 'worker/one:b.txt')).toBe('y');
  });

  it('creates a branch with the committed blobs of files that git converts, and shows the agent a clean status', async () => {
    project.write('.gitattributes', '*.win text eol=crlf\n*.up filter=up\n');
    project.git('config', 'filter.up.clean', 'tr a-z A-Z');
    project.git('config', 'filter.up.smudge', 'tr A-Z a-z');
    for (const name of ['same.win', 'edited.win', 'mine.win']) project.write(name, 'one\r\ntwo\r\n');
    for (const name of ['same.up', 'edited.up']) project.write(name, 'text\n');
    project.commit('converted');
    const base = project.git('rev-parse', 'HEAD');
    expect(project.git('show', 'HEAD:same.up')).toBe('TEXT');
    project.write('mine.win', 'one\r\nuncommitted\r\n');
    const prepared = await project.prepare({ branch: 'converted' });
    expect(readFileSync(join(prepared.path, 'same.win'), 'utf8')).toBe('one\r\ntwo\r\n');
    expect(inSandbox(prepared, 'git status --porcelain').trim()).toMatch(/^M+ +mine\.win$/);
    writeFileSync(join(prepared.path, 'edited.win'), 'one\r\ntwo\r\nagent\r\n');
    writeFileSync(join(prepared.path, 'edited.up'), 'agent\n');
    const saved = await project.workspaces.checkpoint(prepared);
    project.git('gc', '-q', '--prune=now');
    await writePlannedBranch(project, prepared, saved);
    const touched = project.git('diff', '--name-only', base, 'converted').split('\n');
    expect(touched).toEqual(['edited.up', 'edited.win', 'mine.win']);
    expect(project.git('show', 'converted:edited.win')).toBe('one\ntwo\nagent');
    expect(saved?.warnings).toEqual([expect.stringMatching(/^edited.up is on converted as the bytes it is/)]);
  });

  it('survives the user’s gc that prunes everything', async () => {
    project.write('a.txt', 'uncommitted\n');
    const prepared = await project.prepare();
    project.git('gc', '-q', '--prune=now');
    writeFileSync(join(prepared.path, 'b.txt'), 'x');
    await captureProven(prepared);
    const saved = await project.workspaces.checkpoint(prepared);
    project.git('gc', '-q', '--prune=now');
    expect(project.git('show', `${saved?.ref}:b.txt`)).toBe('x');
  });
});

describe('remove', () => {
  it('refuses unsaved work, then moves saved work to the trash, where it stays until it expires', async () => {
    let nowMs = Date.now();
    const workspaces = createWorkspaces({ home: project.home, stamp: STAMP, now: () => nowMs });
    const prepared = await project.prepare();
    writeFileSync(join(prepared.path, 'b.txt'), 'x');
    expect(await workspaces.remove(prepared)).toEqual({ kind: 'refused', reason: 'unsaved-work' });
    await workspaces.checkpoint(prepared);
    writeFileSync(join(prepared.path, 'b.txt'), 'y');
    expect(await workspaces.remove(prepared)).toEqual({ kind: 'refused', reason: 'unsaved-work' });
    writeFileSync(join(prepared.path, 'build'), 'ignored');
    await workspaces.checkpoint(prepared);
    const removed = await workspaces.remove(prepared);
    expect(removed).toMatchObject({ kind: 'trashed', isSaved: true });
    expect(existsSync(prepared.attemptDir)).toBe(false);
    const ttl = { stateDir: project.stateDir, trashTtlMs: 60_000 };
    expect(await workspaces.gc(ttl)).toEqual({ deleted: [], kept: [] });
    nowMs = Date.now() + 61_000;
    expect((await workspaces.gc(ttl)).deleted).toHaveLength(1);
    expect(readdirSync(join(project.stateDir, 'trash'))).toEqual([]);
  });

  it('keeps nothing of a workspace in which nothing was done', async () => {
    const prepared = await project.prepare();
    await project.workspaces.checkpoint(prepared);
    expect(await project.workspaces.remove(prepared)).toEqual({ kind: 'removed' });
    expect(existsSync(prepared.attemptDir)).toBe(false);
  });

  it('keeps nothing of one whose files are all in its checkpoint, and of another only what is ignored', async () => {
    for (let index = 0; index < 150; index += 1) project.write(`many/${index}`, 'x');
    project.commit('many');
    const prepared = await project.prepare();
    writeFileSync(join(prepared.path, 'b.txt'), 'x');
    await project.workspaces.checkpoint(prepared);
    expect(await project.workspaces.remove(prepared)).toEqual({ kind: 'removed' });
    expect(readdirSync(join(project.stateDir, 'trash'))).toEqual([]);

    const other = await project.prepare();
    writeFileSync(join(other.path, 'many/1'), 'changed');
    writeFileSync(join(other.path, 'build'), 'made');
    await project.workspaces.checkpoint(other);
    const removed = await project.workspaces.remove(other);
    expect(listAll(removed.kind === 'trashed' ? removed.path : '')).toEqual([
      'files/build',
      'saved-tree',
      'trashed',
      'trashed-bytes',
    ]);
  });

  it('thins at the next sweep what was moved to the trash by a process that was killed then', async () => {
    const [first, second] = [await project.prepare(), await project.prepare()];
    for (const prepared of [first, second]) {
      writeFileSync(join(prepared.path, 'b.txt'), 'x');
      await project.workspaces.checkpoint(prepared);
    }
    writeFileSync(join(second.path, 'build'), 'made');
    for (const prepared of [first, second]) await moveToTrash(prepared, 'saved');
    writeFileSync(
      join(project.stateDir, 'trash', basename(second.attemptDir), 'files/b.txt'),
      'edited there',
    );
    const { deleted } = await project.workspaces.gc({ stateDir: project.stateDir, trashTtlMs: 60_000 });
    expect(deleted).toMatchObject([{ runId: first.runId, why: null }]);
    expect(listAll(join(project.stateDir, 'trash'))).toEqual(
      ['files/b.txt', 'files/build', 'saved-tree', 'trashed'].map((name) =>
        join(basename(second.attemptDir), name),
      ),
    );
  });

  it('deletes nothing through a link, and nothing where the index is not of the saved tree', async () => {
    project.write('folder/same', 'same\n');
    project.commit('folder');
    project.write('folder/build', 'ignored\n');
    const outside = join(project.base, 'outside');
    mkdirSync(outside);
    for (const name of ['same', 'build']) writeFileSync(join(outside, name), 'same\n');
    const include = ['folder/build'];
    const [linked, other] = [await project.prepare({ include }), await project.prepare()];
    for (const prepared of [linked, other]) {
      writeFileSync(join(prepared.path, 'b.txt'), 'x');
      await project.workspaces.checkpoint(prepared);
      await moveToTrash(prepared, 'saved');
    }
    const inTrash = (prepared: { attemptDir: string }): string =>
      join(project.stateDir, 'trash', basename(prepared.attemptDir));
    rmSync(join(inTrash(linked), 'files/folder'), { recursive: true });
    symlinkSync(outside, join(inTrash(linked), 'files/folder'));
    writeFileSync(join(inTrash(other), 'saved-tree'), '0'.repeat(40));
    await project.workspaces.gc({ stateDir: project.stateDir, trashTtlMs: 60_000 });
    expect(listAll(outside)).toEqual(['build', 'same']);
    expect(readFileSync(join(inTrash(other), 'files/b.txt'), 'utf8')).toBe('x');
  });

  it('thins folders whose names are not UTF-8', async () => {
    const prepared = await project.prepare();
    const folder = Buffer.concat([Buffer.from(`${prepared.path}/odd`), Buffer.from([0xff])]);
    mkdirSync(Buffer.concat([folder, Buffer.from('/deep'), Buffer.from([0xfe])]), { recursive: true });
    mkdirSync(Buffer.concat([folder, Buffer.from('/below')]));
    writeFileSync(join(prepared.path, 'b.txt'), 'x');
    await project.workspaces.checkpoint(prepared);
    expect(await project.workspaces.remove(prepared)).toEqual({ kind: 'removed' });
  });

  it('keeps the newest ignored files within the size, and reports the rest', async () => {
    const removed: string[] = [];
    for (const [content, times] of [
      ['one', 5000],
      ['two', 5000],
      ['three', 5000],
      ['large', 50_000],
    ] as const) {
      const prepared = await project.prepare();
      writeFileSync(join(prepared.path, 'build'), content.repeat(times));
      await project.workspaces.checkpoint(prepared);
      const { path } = (await project.workspaces.remove(prepared)) as { path: string };
      removed.push(path);
    }
    const reported: unknown[] = [];
    const options = {
      ...{ stateDir: project.stateDir, trashTtlMs: 60_000, trashBytes: 1_000_000 },
      onDeleted: async (deleted: unknown) => void reported.push(deleted),
    };
    expect((await project.workspaces.gc(options)).deleted).toEqual([]);
    const { deleted } = await project.workspaces.gc({ ...options, trashBytes: 60_000 });
    expect(deleted.map(({ path, why }) => [path, why])).toEqual([
      [removed[0], 'size'],
      [removed[1], 'size'],
      [removed[3], 'size'], // alone too large
    ]);
    expect(reported).toEqual(deleted);
    expect(readFileSync(join(removed[2] ?? '', 'files/build'), 'utf8')).toHaveLength(25_000);
  });

  it('moves what was left in a state folder that was moved since to the trash, once its run is over', async () => {
    const prepared = await project.prepare();
    writeFileSync(join(prepared.path, 'b.txt'), 'unsaved');
    const stateDir = join(project.base, 'moved');
    renameSync(project.stateDir, stateDir);
    expect(await project.workspaces.recoverList({ stateDir })).toEqual([]);
    expect(await project.workspaces.trashMoved({ stateDir, isOver: () => false })).toEqual([]);
    const [moved] = await project.workspaces.trashMoved({
      stateDir,
      isOver: (runId) => runId === prepared.runId,
    });
    expect(readFileSync(join(moved?.trashed ?? '', 'files/b.txt'), 'utf8')).toBe('unsaved');
    expect(readdirSync(join(stateDir, 'worktrees'))).toEqual([]);
    expect((await project.workspaces.gc({ stateDir, trashTtlMs: 0 })).deleted).toEqual([]);
  });

  it('holds back what is too large for a checkpoint, for ever, and names the place', async () => {
    const limits = { maxFileBytes: 1000, maxTotalBytes: 5000 };
    const prepared = await project.prepare({ limits });
    writeFileSync(join(prepared.path, 'small'), 'x');
    writeFileSync(join(prepared.path, 'large'), '0'.repeat(2000));

    const saved = await project.workspaces.checkpoint(prepared);
    const removed = await project.workspaces.remove(prepared);

    const held = join(project.stateDir, 'held-back', basename(prepared.attemptDir));
    const place = join(held, 'large');
    expect(saved?.warnings).toEqual([expect.stringContaining(`large (2000 bytes)`)]);
    expect(saved?.warnings[0]).toContain(`kept in ${held} until`);
    expect(project.git('ls-tree', '--name-only', saved?.ref ?? '')).toBe('.gitignore\na.txt\nsmall');
    expect(removed).toEqual({ kind: 'removed' });
    const collect = { stateDir: project.stateDir, trashTtlMs: 0 };
    expect(await project.workspaces.gc(collect)).toMatchObject({ kept: [held] });
    expect(readFileSync(place, 'utf8')).toHaveLength(2000);
    expect(await project.workspaces.gc({ ...collect, heldBackTtlMs: 0 })).toMatchObject({
      deleted: [{ path: held, why: 'asked' }],
      kept: [],
    });
  });

  it('keeps the whole workspace where what is too large cannot be moved: nothing outside of it is', async () => {
    project.write('folder/large', 'small\n');
    project.commit('folder');
    const outside = join(project.base, 'outside');
    mkdirSync(outside);
    writeFileSync(join(outside, 'large'), '0'.repeat(2000));
    const prepared = await project.prepare({ limits: { maxFileBytes: 1000, maxTotalBytes: 5000 } });
    rmSync(join(prepared.path, 'folder'), { recursive: true });
    symlinkSync(outside, join(prepared.path, 'folder'));
    await project.workspaces.checkpoint(prepared);
    await project.workspaces.remove(prepared);
    expect(readFileSync(join(outside, 'large'), 'utf8')).toHaveLength(2000);
  });

  it('is done already when the folder is gone, and has nothing to keep of an empty one', async () => {
    const prepared = await project.prepare();
    writeFileSync(join(prepared.path, 'b.txt'), 'x');
    await project.workspaces.checkpoint(prepared);
    for (let time = 0; time < 2; time += 1)
      expect(await project.workspaces.remove(prepared)).toEqual({ kind: 'removed' });

    const bare = createScratchProject();
    try {
      const empty = await bare.prepare({ sandboxed: false });
      expect(await bare.workspaces.checkpoint(empty)).toBeNull();
      expect(await bare.workspaces.remove(empty)).toEqual({ kind: 'removed' });
    } finally {
      bare.dispose();
    }
  });

  it('does not ask whether the files of an in-place workspace were changed after they were saved', async () => {
    const prepared = await project.prepare({ kind: 'in-place' });
    project.write('a.txt', 'two\n');
    await project.workspaces.checkpoint(prepared);
    project.write('a.txt', 'the user goes on\n');
    expect(await project.workspaces.remove(prepared)).toEqual({ kind: 'removed' });
  });

  it('names included files that the agent changed, and holds them back', async () => {
    project.write('.gitignore', '.env*\ncache\n');
    for (const name of ['.env.test', '.env.same', '.env.gone', 'cache/a', 'cache/b/c'])
      project.write(name, 'A=1\n');
    const include = ['.env.*', 'cache'];
    const idle = await project.prepare({ include });
    writeFileSync(join(idle.path, '.env.same'), 'A=1\n');
    expect(await project.workspaces.checkpoint(idle)).toBeNull();
    expect(await project.workspaces.remove(idle)).toEqual({ kind: 'removed' });

    const prepared = await project.prepare({ include });
    writeFileSync(join(prepared.path, '.env.test'), 'A=2\n');
    writeFileSync(join(prepared.path, 'cache/b/new'), 'x');
    rmSync(join(prepared.path, '.env.gone'));
    const { warnings } = (await project.workspaces.checkpoint(prepared)) ?? { warnings: [] };
    expect(warnings.map((text) => text.replace(/ .*/, '')).toSorted()).toEqual(['.env.test', 'cache']);
    expect(await project.workspaces.remove(prepared)).toEqual({ kind: 'removed' });
    const place = /kept in (.+) until/.exec(warnings.find((text) => text.startsWith('.env.test')) ?? '')?.[1];
    expect(readFileSync(join(place ?? '', '.env.test'), 'utf8')).toBe('A=2\n');
  });

  it('leaves a file of the user that is too large out of baseline and patch, in place, and says so', async () => {
    project.write('data.bin', '0'.repeat(2000));
    const limits = { maxFileBytes: 1000, maxTotalBytes: 5000 };
    const prepared = await project.prepare({ kind: 'in-place', limits });
    project.write('a.txt', 'two\n');

    expect(prepared.warnings).toEqual([expect.stringContaining('data.bin (2000 bytes)')]);
    expect((await captureProven(prepared)).files.map(({ path }) => path)).toEqual(['a.txt']);
    expect((await project.workspaces.checkpoint(prepared))?.warnings).toEqual([]);
    expect(await project.workspaces.remove(prepared)).toEqual({ kind: 'removed' });
    expect(project.read('data.bin')).toHaveLength(2000);
  });

  it('deletes the oldest alone when there is no time for more', async () => {
    const first = await project.prepare();
    const second = await project.prepare();
    for (const prepared of [first, second]) {
      writeFileSync(join(prepared.path, 'build'), 'x');
      await project.workspaces.checkpoint(prepared);
      await project.workspaces.remove(prepared);
    }
    const ttl = { stateDir: project.stateDir, trashTtlMs: 0, oldest: 1 };
    expect((await project.workspaces.gc(ttl)).deleted.map(({ path }) => basename(path))).toEqual([
      basename(first.attemptDir),
    ]);
  });

  it('keeps what was removed by force and is unused for the long expiry', async () => {
    const prepared = await project.prepare();
    const removed = await project.workspaces.remove(prepared, { force: true });
    expect(removed).toMatchObject({ kind: 'trashed', isSaved: false });
    const gc = (trashTtlMs: number) => project.workspaces.gc({ stateDir: project.stateDir, trashTtlMs });
    expect((await gc(60_000)).deleted).toEqual([]);
    expect((await gc(0)).deleted).toHaveLength(1);
  });

  it('keeps what was removed by force for good when work was done in it', async () => {
    const prepared = await project.prepare();
    writeFileSync(join(prepared.path, 'b.txt'), 'x');
    const removed = await project.workspaces.remove(prepared, { force: true });
    if (removed.kind !== 'trashed') throw new Error(removed.kind);
    await project.workspaces.gc({ stateDir: project.stateDir, trashTtlMs: 0 });
    expect(readFileSync(join(removed.path, 'files/b.txt'), 'utf8')).toBe('x');
  });

  it('refuses while a process works in the folder or has a file of it open, in a sandbox too', async () => {
    const prepared = await project.prepare();
    await project.workspaces.checkpoint(prepared);
    const commands: [string, string[]][] = [
      ['sh', ['-c', 'echo up; exec sleep 60']],
      ['bash', ['-c', 'exec 9<"$1"; echo up; exec sleep 60', 'bash', join(prepared.path, 'a.txt')]],
      [
        'bwrap',
        [
          '--ro-bind',
          '/',
          '/',
          '--bind',
          prepared.path,
          '/mnt',
          '--chdir',
          '/',
          '--die-with-parent',
          'sh',
          '-c',
          'echo up; exec sleep 60',
        ],
      ],
    ];
    for (const [file, args] of commands) {
      const child = spawn(file, args, {
        cwd: file === 'sh' ? prepared.path : '/',
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      await once(child.stdout, 'data');
      const refused = await project.workspaces.remove(prepared);
      expect(refused).toMatchObject({ kind: 'refused', reason: 'live-processes' });
      child.kill('SIGKILL');
      await once(child, 'close');
    }
    expect((await project.workspaces.remove(prepared)).kind).toBe('removed');
  });

  it('leaves the files of an in-place workspace where they are', async () => {
    const prepared = await project.prepare({ kind: 'in-place' });
    project.write('a.txt', 'two\n');
    await project.workspaces.checkpoint(prepared);
    expect((await project.workspaces.remove(prepared)).kind).toBe('removed');
    expect(project.read('a.txt')).toBe('two\n');
  });
});

describe('recoverList', () => {
  it('gives a later host everything it needs to save and remove what a dead one left', async () => {
    const prepared = await project.prepare();
    writeFileSync(join(prepared.path, 'b.txt'), 'x');
    mkdirSync(join(project.stateDir, 'worktrees', 'run_zzzzzzzzzzzzzzzzzzzz.2'));
    const later = createWorkspaces({ home: project.home, stamp: STAMP });
    const [first, second] = await later.recoverList({ stateDir: project.stateDir });
    expect(first).toEqual({ runId: prepared.runId, attempt: 1, attemptDir: prepared.attemptDir, prepared });
    expect(second).toMatchObject({ runId: 'run_zzzzzzzzzzzzzzzzzzzz', attempt: 2, prepared: null });
    if (first?.prepared === null || first === undefined) throw new Error('no record');
    expect(project.git('show', `${(await later.checkpoint(first.prepared))?.ref}:b.txt`)).toBe('x');
    expect((await later.remove(first.prepared)).kind).toBe('removed');
  });
});
