/** The configuration as commands and programs load it: with what the user agreed to for the project. */
import { systemClock } from '@caisson/ground';
import {
  explainConfig as explainBare,
  loadConfig as loadBare,
  readHostEnvironment,
  resolveUserFolders,
  type ExplainedConfig,
  type LoadConfigOptions,
  type ResolvedConfig,
} from '../config/index.ts';
import { createTrust, TrustRequiredError, type Trust } from '../trust/index.ts';

export function openTrust(env = readHostEnvironment()): Trust {
  return createTrust({ folder: resolveUserFolders(env).state, env, clock: systemClock });
}

/** Adds the user's decisions to the options. */
export function withTrust(options: LoadConfigOptions): LoadConfigOptions {
  return { ...options, decideTrust: (request) => openTrust(options.env).decide(request) };
}

/** Resolves flag > env > project's file > user's file > default. What the project asks for counts only where it was agreed to. */
export function loadConfig(options: LoadConfigOptions = {}): Promise<ResolvedConfig> {
  return loadBare(withTrust(options));
}

/** The same, with a row for every setting, then for everything else in the files, then for what has no effect yet. */
export function explainConfig(options: LoadConfigOptions = {}): Promise<ExplainedConfig> {
  return explainBare(withTrust(options));
}

/** For what starts nothing: `onUnread` gets each problem of a file that is not valid, and the rest counts. */
export async function loadConfigToRead(
  options: LoadConfigOptions,
  onUnread?: (problem: string) => void,
): Promise<ResolvedConfig> {
  const config = await loadConfig({ ...options, startsNothing: true });
  for (const line of listUnread(config)) onUnread?.(line);
  return config;
}

/** What was not understood in the files, a line for each problem with its place. */
export function listUnread({ unread = [] }: ResolvedConfig): readonly string[] {
  return unread.flatMap(({ lines }) => lines);
}

/** Throws if a file of the configuration was not understood completely: call it before anything is started or removed. */
export function requireUnderstood({ unread }: ResolvedConfig): void {
  if (unread?.[0] !== undefined) throw unread[0];
}

/**
 * Throws if the project asks for something that the user has not agreed to: call it before using that. `parts` are the
 * top-level keys that are about to be used; without them all are.
 */
export async function requireTrust(config: ResolvedConfig, parts?: readonly string[]): Promise<void> {
  requireUnderstood(config);
  if (isTrusted(config, parts)) return;
  throw new TrustRequiredError(await openTrust().report(config.asked));
}

/** Whether everything that the project asks for there is known, and agreed to. */
export function isTrusted(config: ResolvedConfig, parts?: readonly string[]): boolean {
  if (config.unread !== undefined) return false;
  if (config.trust.kind !== 'required') return true;
  return parts !== undefined && !config.asked.asks.some(({ path: [part = ''] }) => parts.includes(part));
}
