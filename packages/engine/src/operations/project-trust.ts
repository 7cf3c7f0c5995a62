/** Shows what a project asks for, its owner and the owner of its state folder; and agrees to that. */
import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { loadConfig, openTrust } from '../composition/trusted-config.ts';
import {
  acceptRoot,
  forgetRoot,
  locateProject,
  readHostEnvironment,
  resolveUserFolders,
  type LoadConfigOptions,
  type ProjectRefusedError,
} from '../config/index.ts';
import {
  adoptStateFolder,
  inspectStateFolder,
  TrustChangedError,
  type StatePlace,
  type TrustReport,
} from '../trust/index.ts';

/**
 * What a user is asked about a project. Agreeing is one step at a time: a folder first, then what its file asks for.
 */
export interface ProjectTrust extends TrustReport {
  /** The folder belongs to another user, or others can write it; until it is accepted its file is not read. */
  readonly folder: Problem | null;
  /** The state folder is not known to be this user's; agreeing adopts it if `isAdoptable`. */
  readonly state: (Problem & { readonly isAdoptable: boolean }) | null;
}

interface Problem {
  readonly detail: string;
  readonly remedy: string;
}

export interface GrantOptions extends LoadConfigOptions {
  /** Each address that may get a credential of the user. */
  readonly sendsTo?: readonly string[];
  /** The digest of what was shown; later changes are not agreed to. */
  readonly digest?: string;
}

const NOTHING = { asks: [], sends: [] };

export async function inspectTrust(options: LoadConfigOptions = {}): Promise<ProjectTrust> {
  const { root, refusal } = locateProject(options);
  const trust = openTrust(options.env);
  if (refusal !== null)
    return { ...(await trust.report({ projectRoot: root, ...NOTHING })), ...describeRefusal(refusal) };
  const config = await loadConfig(options);
  return { ...(await trust.report(config.asked)), folder: null, state: describeState(config) };
}

/** Whether anything is left to agree to. */
export function isAgreed({ status, folder, state }: ProjectTrust): boolean {
  return folder === null && state === null && (status === 'nothing-asked' || status === 'granted');
}

/**
 * Agrees to the current step. A folder of another user, or a state folder that hides the project, is accepted alone,
 * because the file was not read before.
 */
export async function grantTrust(options: GrantOptions = {}): Promise<ProjectTrust> {
  const { sendsTo = [], digest, ...given } = options;
  const { refusal } = locateProject(given);
  if (refusal !== null) {
    acceptRefused(refusal, given);
    return inspectTrust(given);
  }
  const config = await loadConfig(given);
  const trust = openTrust(given.env);
  if (digest !== undefined && (await trust.report(config.asked)).digest !== digest)
    throw new TrustChangedError();
  if (config.asked.asks.length > 0) await trust.grant(config.asked, sendsTo);
  if (inspectStateFolder(config).kind === 'adoptable') adoptStateFolder(config);
  return inspectTrust(given);
}

/** False where nothing was agreed to. */
export async function revokeTrust(options: LoadConfigOptions = {}): Promise<boolean> {
  const { root } = locateProject(options);
  const wasAccepted = forgetRoot(root, userState(options));
  return (await openTrust(options.env).revoke(root)) || wasAccepted;
}

function describeRefusal({
  message,
  remedy = '',
  way,
}: ProjectRefusedError): Pick<ProjectTrust, 'folder' | 'state'> {
  const problem = { detail: message, remedy };
  return way.kind === 'adopt'
    ? { folder: null, state: { ...problem, isAdoptable: true } }
    : { folder: problem, state: null };
}

function describeState(place: StatePlace): ProjectTrust['state'] {
  const standing = inspectStateFolder(place);
  if (standing.kind === 'ours' || standing.kind === 'absent') return null;
  const { detail, remedy, kind } = standing;
  return { detail, remedy, isAdoptable: kind === 'adoptable' };
}

function acceptRefused(refusal: ProjectRefusedError, options: LoadConfigOptions): void {
  const { way } = refusal;
  const folders = resolveUserFolders(options.env ?? readHostEnvironment());
  if (way.kind === 'none') throw refusal;
  if (way.kind === 'accept') acceptRoot(way.folder, statSync(way.folder).uid, folders.state);
  else adoptStateFolder({ stateDir: way.stateDir, projectRoot: dirname(way.stateDir), folders });
}

function userState(options: LoadConfigOptions): string {
  return resolveUserFolders(options.env ?? readHostEnvironment()).state;
}
