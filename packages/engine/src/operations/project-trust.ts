/** Looking at what a project asks for, whose it is and whose its state folder is; and agreeing to that. */
import { statSync } from 'node:fs';
import { loadConfig, openTrust } from '../composition/trusted-config.ts';
import {
  acceptRoot,
  findProject,
  getCurrentFolder,
  readHostEnvironment,
  resolveUserFolders,
  type LoadConfigOptions,
} from '../config/index.ts';
import { adoptStateFolder, inspectStateFolder, type TrustReport } from '../trust/index.ts';

/** What a user is asked about a project. Agreeing is a step at a time: a folder first, then what its file asks for. */
export interface ProjectTrust extends TrustReport {
  /** The folder belongs to somebody else, or others can write it; until it is accepted its file is not read. */
  readonly folder: Problem | null;
  /** The state folder is not known to be this user's; agreeing takes it over where `isAdoptable`. */
  readonly state: (Problem & { readonly isAdoptable: boolean }) | null;
}

interface Problem {
  readonly detail: string;
  readonly remedy: string;
}

const NOTHING = { asks: [], sends: [] };

export async function inspectTrust(options: LoadConfigOptions = {}): Promise<ProjectTrust> {
  const { root, refusal } = locate(options);
  const trust = openTrust(options.env);
  if (refusal !== null) {
    const folder = { detail: refusal.message, remedy: refusal.remedy ?? '' };
    return { ...(await trust.report({ projectRoot: root, ...NOTHING })), folder, state: null };
  }
  const config = await loadConfig(options);
  const standing = inspectStateFolder(config);
  const isKnown = standing.kind === 'ours' || standing.kind === 'absent';
  return {
    ...(await trust.report(config.asked)),
    folder: null,
    state: isKnown
      ? null
      : { detail: standing.detail, remedy: standing.remedy, isAdoptable: standing.kind === 'adoptable' },
  };
}

/** Whether anything is left to agree to. */
export function isAgreed({ status, folder, state }: ProjectTrust): boolean {
  return folder === null && state === null && (status === 'nothing-asked' || status === 'granted');
}

/**
 * Agrees to what there is to agree to now. A folder of somebody else is accepted alone, because its file was not read
 * before. `sendsTo` names each address that may get a credential of the user.
 */
export async function grantTrust(
  options: LoadConfigOptions & { readonly sendsTo?: readonly string[] } = {},
): Promise<ProjectTrust> {
  const { sendsTo = [], ...given } = options;
  const { root, refusal } = locate(given);
  if (refusal !== null) {
    const { state } = resolveUserFolders(given.env ?? readHostEnvironment());
    acceptRoot(root, statSync(root).uid, state);
    return inspectTrust(given);
  }
  const config = await loadConfig(given);
  if (config.asked.asks.length > 0) await openTrust(given.env).grant(config.asked, sendsTo);
  const { kind } = inspectStateFolder(config);
  if (kind === 'adoptable') adoptStateFolder(config);
  return inspectTrust(given);
}

/** False where nothing was agreed to. */
export async function revokeTrust(options: LoadConfigOptions = {}): Promise<boolean> {
  return openTrust(options.env).revoke(locate(options).root);
}

function locate({ cwd = getCurrentFolder(), env = readHostEnvironment(), flags = {} }: LoadConfigOptions) {
  const isStateElsewhere = flags.state !== undefined;
  return findProject(cwd, { userState: resolveUserFolders(env).state, isStateElsewhere });
}
