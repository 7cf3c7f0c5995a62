import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';

import { createWorkspaces, WorkspaceError, type PreparedWorkspace } from './index.ts';
import {
  captureProven,
  createScratchProject,
  gitIn,
  STAMP,
  writePlannedBranch,
  type ScratchProject,
} from './scratch-project-stage.ts';

let project: ScratchProject;
afterEach(() => project.dispose());

function committedProject(initArgs: string[] = []): ScratchProject {
  project = createScratchProject({ initArgs });
  project.write('.gitignore', 'node_modules\n.env\n');
  project.write('src/a.txt', 'one\n');
  project.write('src/b.txt', 'bee\n');
  project.commit('first');
  return project;
}

const fileOf = (prepared: PreparedWorkspace, path: string): string =>
  readFileSync(join(prepared.path, path), 'latin1');

describe('a worktree', () => {
  it('has the committed, uncommitted, staged and untracked files, and leaves everything of the user as it was', async () => {
    committedProject();
    project.write('src/b.txt', 'stashed\n');
    project.git('stash', '-q');
    project.write('src/a.txt', 'staged\n');
    project.git('add', 'src/a.txt');
    project.write('src/a.txt', 'unstaged\n');
    project.write('new.txt', 'untracked\n');
    rmSync(join(project.root, 'src/b.txt'));
    project.write('node_modules/x', 'ignored');
    const before = project.snapshot();
    const prepared = await project.prepare();
    expect(readdirSync(prepared.path).toSorted()).toEqual([
      '.caisson',
      '.git',
      '.gitignore',
      'new.txt',
      'src',
    ]);
    expect([fileOf(prepared, 'src/a.txt'), fileOf(prepared, 'new.txt')]).toEqual([
      'unstaged\n',
      'untracked\n',
    ]);
    expect(existsSync(join(prepared.path, 'src/b.txt'))).toBe(false);
    expect(prepared).toMatchObject({
      mountPath: project.root,
      cwd: project.root,
      baseCommit: project.git('rev-parse', 'HEAD'),
    });
    expect(project.snapshot()).toEqual(before);
    writeFileSync(join(prepared.path, 'src/a.txt'), 'by the agent\n');
    await captureProven(prepared);
    await project.workspaces.checkpoint(prepared);
    await project.workspaces.remove(prepared);
    expect(project.snapshot()).toEqual(before);
  });

  it('keeps modes, links, Latin-1 names, binary and CRLF bytes', async () => {
    committedProject();
    project.write('.gitattributes', '* text=auto\n*.lfs filter=lfs\n');
    project.write('crlf.txt', 'a\r\nb\r\n');
    project.write('big.lfs', Buffer.from([0, 255, 13, 10]));
    project.write('run.sh', '#!/bin/sh\n');
    chmodSync(join(project.root, 'run.sh'), 0o755);
    symlinkSync('src/a.txt', join(project.root, 'link'));
    writeFileSync(Buffer.concat([Buffer.from(`${project.root}/caf`), Buffer.from([0xe9])]), 'x');
    project.commit('odd');
    const prepared = await project.prepare();
    const differing = execFileSync(
      'diff',
      ['-r', '-q', '-x', '.git', '-x', '.caisson', project.root, prepared.path],
      { encoding: 'utf8' },
    );
    expect(differing).toBe('');
    expect(execFileSync('test', ['-x', join(prepared.path, 'run.sh')]).length).toBe(0);
    expect((await captureProven(prepared)).empty).toBe(true);
  });

  it('brings included ignored files and never puts them into the patch', async () => {
    committedProject();
    project.write('node_modules/dep/index.js', '1');
    project.write('.env', 'KEY=1');
    project.write('conf/a.local', 'x');
    project.write('.git/info/exclude', '*.local\n');
    const prepared = await project.prepare({ include: ['node_modules', '.env', 'conf/*.local', 'absent'] });
    expect([
      fileOf(prepared, 'node_modules/dep/index.js'),
      fileOf(prepared, '.env'),
      fileOf(prepared, 'conf/a.local'),
    ]).toEqual(['1', 'KEY=1', 'x']);
    expect(prepared.warnings).toEqual([
      `workspace.include: absent is not in ${project.root}, or is behind a link`,
    ]);
    writeFileSync(join(prepared.path, '.gitignore'), '');
    expect((await captureProven(prepared)).files.map((file) => file.path)).toEqual(['.gitignore']);
    await expect(project.prepare({ include: ['../outside'] })).rejects.toThrow(WorkspaceError);
  });

  it('honours info/exclude and the user’s global ignore file', async () => {
    committedProject();
    mkdirSync(join(project.home, '.config/git'), { recursive: true });
    writeFileSync(join(project.home, '.config/git/ignore'), '*.swp\n');
    project.write('.git/info/exclude', '*.mine\n');
    for (const name of ['a.swp', 'a.mine', 'a.txt']) project.write(name, name);
    const prepared = await project.prepare();
    expect(readdirSync(prepared.path)).not.toContain('a.swp');
    expect(readdirSync(prepared.path)).not.toContain('a.mine');
    expect(readdirSync(prepared.path)).toContain('a.txt');
    writeFileSync(join(prepared.path, 'b.swp'), '');
    expect((await captureProven(prepared)).empty).toBe(true);
  });

  it.each([
    ['is the home', ''],
    ['is above the home', 'me'],
  ])('leaves keys behind where the repository’s top %s', async (_where, place) => {
    committedProject();
    const at = (name: string): string => join(place, name);
    project.write(at('.vimrc'), 'tracked');
    project.commit('dot files');
    project.write(at('.vimrc'), 'changed');
    project.write(at('.ssh/id_ed25519'), 'KEY');
    project.write(at('notes.txt'), 'untracked');
    const workspaces = createWorkspaces({ home: join(project.root, place), stamp: STAMP });
    const prepared = await workspaces.prepare({
      kind: 'worktree',
      projectRoot: project.root,
      stateDir: project.stateDir,
      runId: 'run_0000000000000000home',
      attempt: 1,
      include: [],
    });
    expect([fileOf(prepared, at('.vimrc')), fileOf(prepared, at('notes.txt'))]).toEqual([
      'changed',
      'untracked',
    ]);
    expect(readdirSync(join(prepared.path, place))).not.toContain('.ssh');
    expect(prepared.warnings.join()).toContain('this repository contains your home folder');
    writeFileSync(join(prepared.path, at('.zshrc')), 'made by the agent');
    const { files } = await captureProven(prepared);
    expect(files.map(({ path }) => path)).toEqual([at('.zshrc')]);
    expect(readFileSync(join(prepared.agentGit?.source ?? '', 'info/exclude'), 'utf8')).not.toContain('.*');
  });

  it('starts at --base with that commit’s files alone', async () => {
    committedProject();
    const first = project.git('rev-parse', 'HEAD');
    project.write('later.txt', 'x');
    project.commit('second');
    project.write('dirty.txt', 'x');
    const prepared = await project.prepare({ baseRef: 'HEAD~1' });
    expect(readdirSync(prepared.path).toSorted()).toEqual(['.caisson', '.git', '.gitignore', 'src']);
    expect(prepared.baseCommit).toBe(first);
    expect((await captureProven(prepared)).empty).toBe(true);
    await expect(project.prepare({ baseRef: '--upload-pack=x' })).rejects.toThrow(/names no commit/);
  });

  it('works for a project in a sub-folder, with the agent starting there', async () => {
    committedProject();
    project.write('apps/one/caisson.yaml', '');
    project.commit('app');
    const projectRoot = join(project.root, 'apps/one');
    const prepared = await project.prepare({ projectRoot, stateDir: join(projectRoot, '.caisson') });
    expect([prepared.mountPath, prepared.cwd]).toEqual([project.root, projectRoot]);
    expect(fileOf(prepared, 'src/a.txt')).toBe('one\n');
    expect((await captureProven(prepared)).empty).toBe(true);
  });

  it('serves a repository without a commit, in the middle of a rebase, in a linked worktree, shallow, split and in sha256', async () => {
    project = createScratchProject();
    project.write('only.txt', 'x');
    const unborn = await project.prepare();
    expect([fileOf(unborn, 'only.txt'), unborn.baseCommit]).toEqual(['x', null]);
    writeFileSync(join(unborn.path, 'only.txt'), 'y');
    await captureProven(unborn);
    expect((await project.workspaces.checkpoint(unborn))?.commit).toMatch(/^[0-9a-f]{40}$/);
    project.dispose();

    committedProject(['--object-format=sha256']);
    project.write('src/a.txt', 'two\n');
    const long = await project.prepare();
    writeFileSync(join(long.path, 'src/a.txt'), 'three\n');
    await captureProven(long);
    expect((await project.workspaces.checkpoint(long))?.commit).toHaveLength(64);
    project.dispose();

    committedProject();
    project.git('switch', '-qc', 'other');
    project.write('src/a.txt', 'other\n');
    project.commit('other');
    project.git('switch', '-q', 'main');
    project.write('src/a.txt', 'main\n');
    project.commit('main');
    expect(() => project.git('rebase', 'other')).toThrow();
    const before = project.snapshot();
    const rebasing = await project.prepare();
    expect(fileOf(rebasing, 'src/a.txt')).toContain('<<<<<<<');
    writeFileSync(join(rebasing.path, 'src/a.txt'), 'both\n');
    expect((await captureProven(rebasing)).files).toHaveLength(1);
    await project.workspaces.checkpoint(rebasing);
    expect(project.snapshot()).toEqual(before);
    project.git('rebase', '--abort');

    const linked = join(project.base, 'linked');
    project.git('worktree', 'add', '-q', '--detach', linked);
    writeFileSync(join(linked, 'src/a.txt'), 'in the linked one\n');
    const inLinked = await project.prepare({ projectRoot: linked });
    expect([fileOf(inLinked, 'src/a.txt'), inLinked.mountPath]).toEqual(['in the linked one\n', linked]);
    await project.workspaces.checkpoint(inLinked);

    project.git('update-index', '--split-index');
    project.write('src/b.txt', 'split\n');
    expect(fileOf(await project.prepare(), 'src/b.txt')).toBe('split\n');

    const shallow = join(project.base, 'shallow');
    gitIn(project.base, project.home, 'clone', '-q', '--depth=1', `file://${project.root}`, shallow);
    const inShallow = await project.prepare({ projectRoot: shallow });
    writeFileSync(join(inShallow.path, 'src/a.txt'), 'z\n');
    await captureProven(inShallow);
    await project.workspaces.checkpoint(inShallow);
  });

  it('keeps a sparse checkout sparse and does not take the rest for deleted', async () => {
    committedProject();
    project.write('huge/file.txt', 'x');
    project.commit('huge');
    project.git('sparse-checkout', 'set', '--cone', '--sparse-index', 'src');
    expect(existsSync(join(project.root, 'huge'))).toBe(false);
    const prepared = await project.prepare();
    expect(readdirSync(prepared.path)).not.toContain('huge');
    writeFileSync(join(prepared.path, 'src/a.txt'), 'two\n');
    expect((await captureProven(prepared)).files.map((file) => file.path)).toEqual(['src/a.txt']);
  });

  it('reads files that git was configured to skip, split and sparse indexes included', async () => {
    committedProject();
    project.write('huge/file.txt', 'x');
    project.commit('huge');
    project.git('update-index', '--assume-unchanged', 'src/a.txt');
    project.git('update-index', '--skip-worktree', 'src/b.txt');
    project.write('src/a.txt', 'local a\n');
    project.write('src/b.txt', 'local b\n');
    const steps: string[][] = [
      [],
      ['update-index', '--split-index'],
      ['sparse-checkout', 'set', '--cone', '--sparse-index', 'src'],
    ];
    for (const step of steps) {
      if (step.length > 0) project.git(...step);
      for (const kind of ['worktree', 'in-place'] as const) {
        const before = project.snapshot();
        const prepared = await project.prepare({ kind });
        expect([fileOf(prepared, 'src/a.txt'), fileOf(prepared, 'src/b.txt')]).toEqual([
          'local a\n',
          'local b\n',
        ]);
        writeFileSync(join(prepared.path, 'src/a.txt'), 'the agent’s a\n');
        writeFileSync(join(prepared.path, 'src/b.txt'), 'the agent’s b\n');
        const { files } = await captureProven(prepared);
        expect(files.map((file) => file.path)).toEqual(['src/a.txt', 'src/b.txt']);
        const saved = await project.workspaces.checkpoint(prepared);
        expect(project.git('show', `${saved?.commit}:src/a.txt`)).toBe('the agent’s a');
        expect(project.snapshot()).toEqual(before);
        project.write('src/a.txt', 'local a\n');
        project.write('src/b.txt', 'local b\n');
      }
    }
  });

  it('captures what the agent writes where a sparse checkout has nothing', async () => {
    committedProject();
    project.write('huge/file.txt', 'x');
    project.write('huge/other.txt', 'y');
    project.commit('huge');
    project.git('sparse-checkout', 'set', '--cone', '--sparse-index', 'src');
    for (const kind of ['worktree', 'in-place'] as const) {
      const prepared = await project.prepare({ kind });
      mkdirSync(join(prepared.path, 'huge'));
      writeFileSync(join(prepared.path, 'huge/file.txt'), 'the agent’s\n');
      expect((await captureProven(prepared)).files.map((file) => file.path)).toEqual(['huge/file.txt']);
      rmSync(join(prepared.path, 'huge'), { recursive: true });
    }
  });

  it('brings the files of a checked-out submodule and says so', async () => {
    committedProject();
    const library = join(project.base, 'library');
    mkdirSync(library);
    gitIn(library, project.home, 'init', '-q');
    writeFileSync(join(library, 'lib.c'), 'int x;\n');
    gitIn(library, project.home, 'add', '.');
    gitIn(library, project.home, 'commit', '-qm', 'lib');
    project.git('-c', 'protocol.file.allow=always', 'submodule', 'add', '-q', library, 'lib');
    project.commit('submodule');
    const before = project.snapshot();
    const prepared = await project.prepare({ branch: 'made' });
    expect(fileOf(prepared, 'lib/lib.c')).toBe('int x;\n');
    expect(prepared.warnings.join()).toContain('lib is a repository of its own');
    writeFileSync(join(prepared.path, 'lib/lib.c'), 'int y;\n');
    writeFileSync(join(prepared.path, 'src/a.txt'), 'two\n');
    expect((await captureProven(prepared)).files.map((file) => file.path)).toEqual([
      'lib/lib.c',
      'src/a.txt',
    ]);
    const saved = await project.workspaces.checkpoint(prepared);
    await writePlannedBranch(project, prepared, saved);
    expect(saved?.warnings).toEqual(['changes in submodule lib are in the patch but not on made']);
    expect(project.git('show', `${saved?.ref}:lib/lib.c`)).toBe('int y;');
    expect(project.git('diff', '--name-status', 'HEAD', 'made')).toBe('M\tsrc/a.txt');
    expect(project.git('rev-parse', 'made^')).toBe(project.git('rev-parse', 'HEAD'));
    project.git('branch', '-qD', 'made');
    expect(project.snapshot()).toEqual(before);
    project.git('submodule', '--quiet', 'deinit', '--force', 'lib');
    for (const kind of ['worktree', 'in-place'] as const)
      expect((await project.prepare({ kind })).warnings).toEqual([
        'not checked out, so empty for the run: submodule lib; git submodule update --init gets it',
      ]);
  });

  it('is refused, with a remedy and nothing left behind, outside git and for odd repositories', async () => {
    project = createScratchProject({ git: false });
    await expect(project.prepare()).rejects.toMatchObject({
      code: 'WORKSPACE_FAILED',
      remedy: expect.stringContaining('in-place'),
    });
    expect(readdirSync(join(project.stateDir, 'worktrees'))).toEqual([]);
    project.git('init', '-q');
    project.git('config', 'core.bare', 'true');
    await expect(project.prepare()).rejects.toThrow(/bare/);
    project.git('config', 'core.bare', 'false');
    project.git('config', 'core.worktree', project.base);
    await expect(project.prepare()).rejects.toThrow(/keeps its working files/);
  });

  it('runs nothing that the repository’s config, hooks, filters or attributes name', async () => {
    committedProject();
    const marker = join(project.base, 'ran');
    const evil = join(project.base, 'evil');
    writeFileSync(evil, `#!/bin/sh\necho "$0 $*" >> ${marker}\ncat\n`, { mode: 0o755 });
    project.write('.gitattributes', '* filter=x diff=x merge=x\n');
    project.write('src/a.txt', 'two\n');
    const keys = [
      'core.fsmonitor',
      'filter.x.clean',
      'filter.x.smudge',
      'filter.x.process',
      'diff.x.textconv',
      'diff.external',
      'merge.x.driver',
      'core.pager',
      'core.editor',
      'core.sshCommand',
      'core.alternateRefsCommand',
      'credential.helper',
      'gpg.program',
      'uploadpack.packObjectsHook',
    ];
    for (const key of keys) project.git('config', key, evil);
    project.git('config', 'commit.gpgSign', 'true');
    project.git('config', 'alias.add', `!${evil}`);
    for (const hook of [
      'post-index-change',
      'pre-commit',
      'commit-msg',
      'reference-transaction',
      'post-checkout',
      'pre-auto-gc',
    ]) {
      writeFileSync(join(project.root, '.git/hooks', hook), readFileSync(evil), { mode: 0o755 });
    }
    for (const kind of ['worktree', 'in-place'] as const) {
      const prepared = await project.prepare({ kind, branch: `made-${kind}` });
      writeFileSync(join(prepared.path, 'src/a.txt'), `three ${kind}\n`);
      const { patch } = await captureProven(prepared);
      await project.workspaces.checkpoint(prepared);
      await project.workspaces.remove(prepared);
      if (kind === 'worktree') {
        const result = await project.workspaces.apply({
          projectRoot: project.root,
          stateDir: project.stateDir,
          patch,
          baseCommit: prepared.baseCommit,
          threeWay: true,
        });
        expect(result.kind).toBe('applied');
      }
    }
    expect(existsSync(marker) ? readFileSync(marker, 'utf8') : '').toBe('');
  });

  it('can be prepared twelve times at once', async () => {
    committedProject();
    project.write('dirty.txt', 'x');
    const before = project.snapshot();
    const all = await Promise.all(Array.from({ length: 12 }, () => project.prepare()));
    expect(new Set(all.map((prepared) => prepared.path)).size).toBe(12);
    for (const prepared of all) expect(fileOf(prepared, 'dirty.txt')).toBe('x');
    await Promise.all(all.map((prepared) => project.workspaces.checkpoint(prepared)));
    expect(project.snapshot()).toEqual(before);
  });
});

describe('in place', () => {
  it('takes its baseline from a folder without git and knows what changed', async () => {
    project = createScratchProject({ git: false });
    project.write('a.txt', 'one\n');
    const prepared = await project.prepare({ kind: 'in-place' });
    expect([prepared.path, prepared.agentGit]).toEqual([project.root, undefined]);
    project.write('a.txt', 'two\n');
    project.write('b.txt', 'new\n');
    expect((await captureProven(prepared)).files.map((file) => [file.path, file.status])).toEqual([
      ['a.txt', 'modified'],
      ['b.txt', 'added'],
    ]);
    const saved = await project.workspaces.checkpoint(prepared);
    expect(gitIn(join(project.stateDir, 'git'), project.home, 'show', `${saved?.ref}:b.txt`)).toBe('new');
    expect(existsSync(join(project.root, '.git'))).toBe(false);
  });

  it('in a repository changes nothing of the user and offers the agent a git dir over theirs', async () => {
    committedProject();
    project.write('src/a.txt', 'dirty\n');
    const before = project.snapshot();
    const prepared = await project.prepare({ kind: 'in-place' });
    expect(prepared.agentGit).toMatchObject({
      target: join(project.root, '.git'),
      readOnly: ['config', 'hooks'],
    });
    expect(project.snapshot()).toEqual(before);
    renameSync(join(project.root, 'src/b.txt'), join(project.root, 'src/c.txt'));
    expect((await captureProven(prepared)).files.map((file) => file.status)).toEqual(['renamed']);
  });
});

describe('an empty workspace', () => {
  it('is an empty folder whose files become the patch', async () => {
    project = createScratchProject({ git: false });
    const prepared = await project.prepare({ kind: 'empty' });
    expect([readdirSync(prepared.path), (await captureProven(prepared)).empty]).toEqual([[], true]);
    expect(await project.workspaces.checkpoint(prepared)).toBeNull();
    writeFileSync(join(prepared.path, 'made.txt'), 'x\n');
    expect((await captureProven(prepared)).files.map((file) => file.path)).toEqual(['made.txt']);
    expect((await project.workspaces.checkpoint(prepared))?.tree).toMatch(/^[0-9a-f]{40}$/);
  });
});

it('files that a no-access rule hides are named, the first five of them', async () => {
  project = committedProject();
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) project.write(`keys/${name}`, 'secret\n');
  const prepared = await project.prepare({
    rules: [{ path: 'keys/**', action: 'no-access', reason: 'keys' }],
  });
  expect(prepared.warnings).toEqual([
    'Not in the workspace, because a no-access rule hides them: keys/a, keys/b, keys/c, keys/d, keys/e and 2 more. Setup and checks see them if workspace.include names them.',
  ]);
});
