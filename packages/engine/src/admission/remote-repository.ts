/** The remote repository that a task names: its address, and what goes together with it. */
import {
  demandOwnFolder,
  isReadableOnTheWay,
  parseRemoteAddress,
  RemoteAddressError,
  type RemoteAddress,
} from '@caisson/ground';
import { definedOnly } from '@caisson/protocol';
import { findRepositoryFolders, isFileOf } from '../discovery/index.ts';
import type { Candidate, DispatchRequest } from './contract.ts';
import { TaskRefusedError } from './errors.ts';
import type { RequestRefusal } from './request-checks.ts';
import type { DispatchSettings } from './rooms.ts';

/** The request with its repository, or that of the settings, under an address that means the same in every folder. Throws TaskRefusedError for one that is none. */
export function withRepositoryAddress(
  request: DispatchRequest,
  settings: Pick<DispatchSettings, 'cwd' | 'projectRoot' | 'home' | 'stateDir' | 'git'>,
): DispatchRequest {
  const { cwd, projectRoot, git } = settings;
  const { repo } = request;
  if (repo !== undefined && request.parent !== undefined)
    throw new TaskRefusedError({
      ...{ check: 'remote-address', kind: 'policy' },
      detail: 'an agent asks for a remote repository, which is for people to name',
    });
  try {
    if (repo !== undefined) return { ...request, repo: parseRemoteAddress(repo, cwd).url };
    if (git.url === undefined || request.workspace !== undefined) return request;
    const remote = parseRemoteAddress(git.url, projectRoot);
    if (git.isUrlOfProject) demandOutside(remote, settings);
    const { url, origin } = remote;
    const gitToken = request.gitToken ?? (origin === undefined ? undefined : git.token);
    return { ...request, repo: url, ...definedOnly({ gitToken }) };
  } catch (error) {
    if (!(error instanceof RemoteAddressError)) throw error;
    throw new TaskRefusedError({ check: 'remote-address', ...toRefusal(error) });
  }
}

/** Git runs the hooks of a local repository: they are none that came with the project, or that an agent wrote. */
function demandOutside(
  { protocol, url }: RemoteAddress,
  settings: Pick<DispatchSettings, 'projectRoot' | 'home' | 'stateDir'>,
): void {
  const { top, all } = findRepositoryFolders(settings);
  if (protocol !== 'file' || !isFileOf({ top, all: [...all, settings.stateDir] }, url)) return;
  throw new RemoteAddressError(
    `caisson.yaml names ${url}, a repository inside the project, whose hooks git would run outside the sandbox`,
    { remedy: 'Move it out of the project, or name it yourself: --repo PATH.' },
  );
}

export function findBadRemote(
  { request, workspaceKind }: Pick<Candidate, 'request' | 'workspaceKind'>,
  { settings }: { readonly settings: Pick<DispatchSettings, 'cwd'> },
): RequestRefusal | null {
  const { repo, push = false, gitToken, branch, bring = [] } = request;
  if (repo === undefined) return findWithoutRemote(request);
  if (push && branch === undefined)
    return {
      kind: 'usage',
      detail: 'a push was asked for, but no branch to push',
      remedy: 'Name the new branch: --branch NAME.',
    };
  if (workspaceKind !== 'worktree' || bring.length > 0)
    return {
      kind: 'usage',
      detail: 'a run on a remote repository works in a worktree of it, and brings nothing of this project',
      remedy: 'Leave out --workspace and --bring.',
    };
  const remote = parseRemoteAddress(repo, settings.cwd);
  if (gitToken !== undefined && remote.origin === undefined)
    return {
      kind: 'usage',
      detail: `a token was named, and ${remote.url} is not reached over https`,
      remedy: 'Leave out --git-token; over ssh your key counts.',
    };
  if (gitToken !== undefined && isReadableOnTheWay(remote))
    return {
      kind: 'policy',
      detail: `the token would be sent to ${remote.url} where others can read it`,
      remedy: 'Use the https:// address.',
    };
  return findForeignFolder(() => demandOwnFolder(remote));
}

function findWithoutRemote({ push = false, gitToken }: DispatchRequest): RequestRefusal | null {
  if (!push && gitToken === undefined) return null;
  return {
    kind: 'usage',
    detail: 'a push or a token for a remote repository was asked for, but no repository',
    remedy: 'Name it: --repo URL. A branch of this project is pushed with git push.',
  };
}

function findForeignFolder(demand: () => void): RequestRefusal | null {
  try {
    demand();
    return null;
  } catch (error) {
    if (error instanceof RemoteAddressError) return toRefusal(error);
    throw error;
  }
}

function toRefusal({ message: detail, remedy }: RemoteAddressError): RequestRefusal {
  return { kind: 'usage', detail, ...definedOnly({ remedy }) };
}
