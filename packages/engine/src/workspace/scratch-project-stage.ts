/** A real project in a temporary folder, for the tests of this room. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  mkdtempSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
  existsSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { capturePatch, createStamp, proveApplies, type CapturedPatch } from '@caisson/ground';

import {
  createWorkspaces,
  type Checkpoint,
  type PreparedWorkspace,
  type PrepareOptions,
  type Workspaces,
} from './index.ts';

export interface ScratchProject {
  readonly base: string;
  readonly root: string;
  readonly stateDir: string;
  readonly home: string;
  readonly workspaces: Workspaces;
  git(...args: string[]): string;
  write(path: string, bytes: string | Buffer): void;
  read(path: string): string;
  commit(message: string): string;
  prepare(changes?: Partial<PrepareOptions>): Promise<PreparedWorkspace>;
  /** Everything of the user that must not change. */
  snapshot(): unknown;
  dispose(): void;
}

/** The same in every process of a test. */
export const STAMP = createStamp(Buffer.from('scratch'));

let runCount = 0;

export function createScratchProject(options: { git?: boolean; initArgs?: string[] } = {}): ScratchProject {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'caisson-ws-')));
  const root = join(base, 'project');
  const home = join(base, 'home');
  const stateDir = join(root, '.caisson');
  mkdirSync(root);
  mkdirSync(home);
  writeFileSync(
    join(home, '.gitconfig'),
    '[user]\n\tname = Ada\n\temail = ada@example.invalid\n[init]\n\tdefaultBranch = main\n',
  );
  mkdirSync(stateDir);
  writeFileSync(join(stateDir, '.gitignore'), '*\n');
  const git = (...args: string[]): string => gitIn(root, home, ...args);
  if (options.git !== false) git('init', '-q', ...(options.initArgs ?? []));
  const workspaces = createWorkspaces({ home, stamp: STAMP });
  const project: ScratchProject = {
    base,
    root,
    stateDir,
    home,
    workspaces,
    git,
    write: (path, bytes) => {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), bytes);
    },
    read: (path) => readFileSync(join(root, path), 'latin1'),
    commit: (message) => {
      git('add', '-A');
      git('commit', '-qm', message);
      return git('rev-parse', 'HEAD');
    },
    prepare: (changes) =>
      workspaces.prepare({
        kind: 'worktree',
        projectRoot: root,
        stateDir,
        runId: `run_${String((runCount += 1)).padStart(20, '0')}`,
        attempt: 1,
        include: [],
        ...changes,
      }),
    snapshot: () => ({
      status: git('status', '--porcelain', '--ignored'),
      index: existsSync(join(root, '.git', 'index')) ? sha(join(root, '.git', 'index')) : null,
      config: sha(join(root, '.git', 'config')),
      head: readFileSync(join(root, '.git', 'HEAD'), 'utf8'),
      stash: git('stash', 'list'),
      refs: git('for-each-ref')
        .split('\n')
        .filter((line) => !line.includes('refs/caisson/')),
      worktrees: git('worktree', 'list'),
    }),
    dispose: () => rmSync(base, { recursive: true, force: true }),
  };
  return project;
}

export function gitIn(cwd: string, home: string, ...args: string[]): string {
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: home,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_OPTIONAL_LOCKS: '0',
  };
  return execFileSync('git', args, { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).replace(
    /\n$/,
    '',
  );
}

/** Captures as a worker does, and requires the proof. */
export async function captureProven(prepared: PreparedWorkspace): Promise<CapturedPatch> {
  const { path: workspace, gitDir, baselineTree, exclude } = prepared;
  const captured = await capturePatch({ workspace, gitDir, baselineTree, exclude, limits: prepared.limits });
  const isProven = await proveApplies({ gitDir, baselineTree, patch: captured.patch, tree: captured.tree });
  if (!isProven) throw new Error('the captured patch does not give the captured tree');
  return captured;
}

function sha(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex');
}

/** Writes the branch that a checkpoint planned, as the ending of its run does. */
export async function writePlannedBranch(
  { workspaces }: ScratchProject,
  { custodyDir, runId, attempt }: PreparedWorkspace,
  saved: Pick<Checkpoint, 'branch'> | null,
  from: string | null = null,
): Promise<unknown> {
  if (saved?.branch === undefined) throw new Error('no branch was planned');
  return await workspaces.writeBranch({ ...{ custodyDir, runId, attempt }, branch: saved.branch, from });
}
