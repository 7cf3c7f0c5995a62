/** Looking at what a project asks for, and agreeing to it. */
import { loadConfig, openTrust } from '../composition/trusted-config.ts';
import type { LoadConfigOptions } from '../config/index.ts';
import type { TrustReport } from '../trust/index.ts';

export async function inspectTrust(options: LoadConfigOptions = {}): Promise<TrustReport> {
  const { asked } = await loadConfig(options);
  return openTrust(options.env).report(asked);
}

/** Agrees to what the project asks for now. `sendsTo` names each address that may get a credential of the user. */
export async function grantTrust(
  options: LoadConfigOptions & { readonly sendsTo?: readonly string[] } = {},
): Promise<TrustReport> {
  const { sendsTo = [], ...given } = options;
  const { asked } = await loadConfig(given);
  return openTrust(given.env).grant(asked, sendsTo);
}

/** False where nothing was agreed to. */
export async function revokeTrust(options: LoadConfigOptions = {}): Promise<boolean> {
  const { projectRoot } = await loadConfig(options);
  return openTrust(options.env).revoke(projectRoot);
}
