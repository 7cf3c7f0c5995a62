/** The user's present files as a tree, in a git dir of ours. */
import { existsSync, realpathSync } from 'node:fs';
import { join, relative } from 'node:path';

import { createOwnGitDir, EMPTY_TREE, stageWorkspace } from '@caisson/ground';
import { definedOnly } from '@caisson/protocol';

import { takeOwnStore } from './beside-gc.ts';
import type { PrepareOptions } from './contract.ts';
import { describeHiding, hidesOf } from './hiding.ts';
import type { Repository, UserFolders } from './locate-repository.ts';
import { readIgnoreRules, seedIndex } from './seed-index.ts';

type StageOptions = Pick<
  PrepareOptions,
  'projectRoot' | 'stateDir' | 'keepOut' | 'rules' | 'limits' | 'signal'
>;

interface StagedPresent {
  readonly gitDir: string;
  readonly ignoreRules: string;
  readonly exclude: readonly string[];
  /** Rules for a repository that contains the home folder. */
  readonly home: string;
  readonly staged: Awaited<ReturnType<typeof stageWorkspace>>;
}

/** The user's present files as a tree, and in the index of the git dir. */
export async function stagePresent(
  options: StageOptions,
  attemptDir: string,
  repository: Repository,
  user: UserFolders,
  inOwnStore: boolean,
): Promise<StagedPresent> {
  const exclude = excludedPaths(options, repository.top);
  const home = homeRules(repository, user);
  const { gitDir, ignoreRules } = await makeGitDir(attemptDir, repository, user, exclude, home);
  if (inOwnStore) await takeOwnStore(gitDir);
  await seedIndex(repository, gitDir, user);
  const staged = await stageWorkspace({
    workspace: repository.top,
    gitDir,
    exclude,
    like: EMPTY_TREE[repository.objectFormat],
    limits: options.limits,
    hides: hidesOf({
      ...describeHiding(options, user.home),
      ...{ cwd: options.projectRoot, mountPath: repository.top },
    }),
    remembersHidden: true,
    ...signalOf(options),
  });
  return { gitDir, ignoreRules, exclude, home, staged };
}

/** `moreRules` apply beside the returned ones. */
export async function makeGitDir(
  attemptDir: string,
  repository: Repository,
  user: UserFolders,
  exclude: readonly string[],
  moreRules = '',
): Promise<{ gitDir: string; ignoreRules: string }> {
  const gitDir = join(attemptDir, 'git');
  const ignoreRules = (await readIgnoreRules(repository, user)) + ownRules(exclude);
  const options = {
    path: gitDir,
    objectFormat: repository.objectFormat,
    objectDir: repository.objectDir,
    ignoreRules: ignoreRules + moreRules,
  };
  await createOwnGitDir({ ...options, ...definedOnly({ shallow: repository.shallow ?? undefined }) });
  return { gitDir, ignoreRules };
}

/** The state folder, and every place where the agent's mailbox may appear. */
export function excludedPaths(
  options: Pick<PrepareOptions, 'projectRoot' | 'stateDir' | 'keepOut'>,
  top: string,
): string[] {
  const candidates = [
    '.caisson',
    relative(top, join(options.projectRoot, '.caisson')),
    relative(top, options.stateDir),
    ...(options.keepOut ?? []).map((path) => relative(top, path)),
  ];
  return [...new Set(candidates.filter((path) => path !== '' && path !== '..' && !path.startsWith('../')))];
}

/** The same paths as ignore rules, so that git does not even walk them. */
export function ownRules(exclude: readonly string[]): string {
  return exclude.map((path) => `/${escapeRule(path)}/\n`).join('');
}

/**
 * A repository whose top is the home, or above it, has keys and logins beside the work. Of its dot files, only those
 * under git are brought along.
 */
function homeRules({ top }: Repository, { home }: UserFolders): string {
  const way = relative(top, existsSync(home) ? realpathSync(home) : home);
  if (way === '..' || way.startsWith('../')) return '';
  return `/${escapeRule(way === '' ? '' : `${way}/`)}.*\n`;
}

function escapeRule(path: string): string {
  return path.replace(/[\\*?[\]# !]/g, (found) => `\\${found}`);
}

export function signalOf(options: Pick<PrepareOptions, 'signal'>): { signal?: AbortSignal } {
  return options.signal === undefined ? {} : { signal: options.signal };
}
