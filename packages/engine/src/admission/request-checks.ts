/**
 * What a request may contain. A worker refuses a job that its schema does not allow, as a crash and only after
 * everything was prepared; this check answers the requester before there is a run.
 */
import { existsSync, realpathSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { findPatternProblem } from '@caisson/policy';
import { findAcpProgram, isAcpRuntime, Task } from '@caisson/protocol';
import type { Candidate, Refusal } from './contract.ts';
import type { DispatchRooms, DispatchSettings } from './rooms.ts';

export type RequestRefusal = Omit<Refusal, 'check'>;

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,254}$/;
const MAX_KEY_CHARACTERS = 255;

export function findBadRequest(candidate: Candidate): RequestRefusal | null {
  const { request } = candidate;
  return (
    findBadTask(candidate) ??
    findBadVariable([
      ...Object.keys({ ...request.env, ...request.secrets }),
      ...(request.passEnv ?? []),
      ...(request.lackingEnv ?? []),
    ]) ??
    findBlank('idempotency key', request.idempotencyKey) ??
    findBadBranch(request.branch) ??
    findBlankWord(request) ??
    findBadPattern(request)
  );
}

/**
 * In place the agent gets the whole folder, and its repository. One that contains the user's home contains the keys
 * that a sandbox protects, and `/` the whole machine.
 */
export async function findHomeAsWorkspace(
  { workspaceKind, grant }: Pick<Candidate, 'workspaceKind' | 'grant'>,
  {
    workspaces,
    settings: { projectRoot, home },
  }: {
    workspaces: Pick<DispatchRooms['workspaces'], 'findTop'>;
    settings: Pick<DispatchSettings, 'projectRoot' | 'home'>;
  },
): Promise<RequestRefusal | null> {
  if (workspaceKind !== 'in-place' || grant.sandbox === 'none') return null;
  const folder = (await workspaces.findTop({ projectRoot })) ?? projectRoot;
  const way = relative(realPathOf(folder), realPathOf(home));
  if (way === '..' || way.startsWith('../')) return null;
  return {
    kind: 'usage',
    detail: `${folder} contains the home folder ${home}: in place, the agent would get everything in it`,
    remedy:
      'Change to the folder of the task, make it a git repository (git init), or use --workspace empty.',
  };
}

/** Invariant 5: only the sandbox limits a program that may act without asking. */
export function findUnlimitedCalls({
  grant,
  runtime: { name, bin, settings, adapter },
}: Pick<Candidate, 'grant' | 'runtime'>): RequestRefusal | null {
  if (grant.sandbox !== 'none' || adapter !== null || !isAcpRuntime(name, settings)) return null;
  if (findAcpProgram(bin, settings) !== null) return null;
  return {
    kind: 'policy',
    detail: `${name} is not known to ask before it acts, and without a sandbox nothing limits its calls`,
    remedy: `Leave out --sandbox none, or name the known program behind it: runtimes.${name}.settings.program.`,
  };
}

/** Homes are often reached by a link. */
function realPathOf(path: string): string {
  return existsSync(path) ? realpathSync(path) : path;
}

/** A bare repository has no files to work on, and its folder is not a workspace. */
export function findNoWorkTree(
  candidate: Pick<Candidate, 'workspaceKind' | 'request'>,
  { projectRoot }: Pick<DispatchSettings, 'projectRoot'>,
): RequestRefusal | null {
  if (candidate.request.repo !== undefined) return null;
  if (candidate.workspaceKind === 'empty' || existsSync(join(projectRoot, '.git'))) return null;
  const isBare =
    isKind(join(projectRoot, 'HEAD'), 'file') &&
    isKind(join(projectRoot, 'objects'), 'folder') &&
    isKind(join(projectRoot, 'refs'), 'folder');
  return isBare
    ? {
        kind: 'usage',
        detail: `${projectRoot} is a bare git repository: there are no files to work on`,
        remedy: 'Change to a checkout of it (git worktree add FOLDER), or use --workspace empty.',
      }
    : null;
}

/** A worktree is made from a repository. */
export async function findNoRepository(
  { workspaceKind, request }: Pick<Candidate, 'workspaceKind' | 'request'>,
  { workspaces, settings: { projectRoot } }: Pick<DispatchRooms, 'workspaces' | 'settings'>,
): Promise<RequestRefusal | null> {
  if (request.repo !== undefined) return null;
  if (workspaceKind !== 'worktree' || (await workspaces.findTop({ projectRoot })) !== null) return null;
  return {
    kind: 'usage',
    detail: `${projectRoot} is not in a git repository, so it cannot have a worktree`,
    remedy: 'Use --workspace in-place, or run git init first.',
  };
}

/** A run that starts from nothing, or from unintended files, is useless. */
export async function findUnknownBase(
  { request, workspaceKind }: Pick<Candidate, 'request' | 'workspaceKind'>,
  { workspaces, settings }: Pick<DispatchRooms, 'workspaces' | 'settings'>,
): Promise<RequestRefusal | null> {
  const { base, repo } = request;
  if (base === undefined || repo !== undefined) return null; // a remote is asked when the run prepares
  if (workspaceKind !== 'worktree')
    return {
      kind: 'usage',
      detail: `a base was named, but the workspace is ${workspaceKind}: only a worktree starts from a commit`,
      remedy: 'Leave out --base, or use --workspace worktree.',
    };
  const { projectRoot } = settings;
  if ((await workspaces.findCommit({ projectRoot, ref: base })) !== null) return null;
  return {
    kind: 'usage',
    detail: `the base ${JSON.stringify(base.slice(0, 200))} names no commit in ${projectRoot}`,
    remedy: 'Use a branch, a tag or a commit id that git log knows.',
  };
}

/** A command line is for `command`; an agent would read it as a task in words, and cost money. */
export function findMisplacedCommand({
  runtime,
  request,
}: Pick<Candidate, 'runtime' | 'request'>): RequestRefusal | null {
  const hasCommand = request.argv !== undefined && request.argv.length > 0;
  if (hasCommand === (runtime.name === 'command')) return null;
  return hasCommand
    ? {
        kind: 'usage',
        detail: `the runtime "${runtime.name}" needs a task in words, and a command line was given`,
        remedy: 'Leave out --runtime to run the command, or give the task in quotes, before any --.',
      }
    : {
        kind: 'usage',
        detail: 'the runtime "command" needs a command line',
        remedy: 'Write it after --: caisson run --runtime command -- npm test',
      };
}

function findBadTask(candidate: Candidate): RequestRefusal | null {
  const { description, priority, request } = candidate;
  const { shape } = Task;
  if (!shape.description.safeParse(description).success)
    return {
      kind: 'usage',
      detail: `the task is ${description.length} characters long, and at most 1048576 fit`,
      remedy: 'Give the long part as a file: --input KEY=PATH.',
    };
  if (!shape.priority.safeParse(priority).success)
    return { kind: 'usage', detail: `the priority ${priority} is not a whole number from 1 to 10` };
  if (!shape.acceptance.safeParse(request.acceptance).success)
    return { kind: 'usage', detail: 'the acceptance text is longer than 65536 characters' };
  if (!shape.scope.safeParse(request.scope ?? []).success)
    return {
      kind: 'usage',
      detail: 'the scope has more than 256 patterns, or one longer than 1024 characters',
    };
  return null;
}

function findBadVariable(names: readonly string[]): RequestRefusal | null {
  const bad = names.find((name) => !VARIABLE.test(name));
  return bad === undefined
    ? null
    : {
        kind: 'usage',
        detail: `"${bad.slice(0, 100)}" is not a valid name for an environment variable`,
        remedy: 'Use letters, digits and underscores, and no digit first.',
      };
}

function findBlank(what: string, text: string | undefined): RequestRefusal | null {
  if (text === undefined || (text.trim() !== '' && text.length <= MAX_KEY_CHARACTERS)) return null;
  return { kind: 'usage', detail: `the ${what} is empty or longer than ${MAX_KEY_CHARACTERS} characters` };
}

/** An empty value was meant to be something: a variable of a script that was never set, most likely. */
function findBlankWord({ scope, tools, acceptance }: Candidate['request']): RequestRefusal | null {
  const words: readonly (readonly [string, readonly string[]])[] = [
    ['a pattern of the scope', scope ?? []],
    ['the name of a tool', tools ?? []],
    ['the acceptance text', acceptance === undefined ? [] : [acceptance]],
  ];
  const [what] = words.find(([, given]) => given.some((word) => word.trim() === '')) ?? [];
  return what === undefined
    ? null
    : { kind: 'usage', detail: `${what} is empty`, remedy: 'Leave it out, or give it a value.' };
}

function findBadPattern({ scope = [] }: Candidate['request']): RequestRefusal | null {
  for (const pattern of scope) {
    const problem = findPatternProblem(pattern);
    if (problem !== null)
      return {
        kind: 'usage',
        detail: `the pattern "${pattern.slice(0, 80)}" of the scope ${problem}`,
        remedy: 'Use names, *, ?, ** and {a,b}.',
      };
  }
  return null;
}

/** As git-check-ref-format has it. */
function findBadBranch(name: string | undefined): RequestRefusal | null {
  if (name === undefined) return null;
  const isBad =
    name === '' ||
    name === '@' ||
    /^(?:refs\/.*|(?:[A-Z]+_)?HEAD)$/.test(name) || // git would take it for a ref of another kind
    name.length > MAX_KEY_CHARACTERS ||
    name.startsWith('-') ||
    // oxlint-disable-next-line no-control-regex -- git refuses these very characters
    /[\u0000-\u0020\u007f~^:?*[\\]|\.\.|@\{|\/\/|\.$/.test(name) ||
    name.split('/').some((part) => part === '' || part.startsWith('.') || part.endsWith('.lock'));
  return isBad
    ? { kind: 'usage', detail: `"${name.slice(0, 100)}" is not a valid name for a git branch` }
    : null;
}

function isKind(path: string, kind: 'file' | 'folder'): boolean {
  const stats = statSync(path, { throwIfNoEntry: false });
  return kind === 'file' ? (stats?.isFile() ?? false) : (stats?.isDirectory() ?? false);
}
