import type { ConfigFile } from '@caisson/protocol';
import type { ResolvedConfig } from './contract.ts';
import { envNameOf, type SettingKey } from './settings.ts';

/** How remote repositories are reached. */
export function assembleGit(
  get: <T>(key: SettingKey) => T,
  toAbsolute: (path: string) => string,
): ResolvedConfig['git'] {
  const fileOf = (key: SettingKey): string | null => {
    const path = get<string | null>(key);
    return path === null ? null : toAbsolute(path);
  };
  return {
    url: get('git.url'),
    token: get('git.token'),
    knownHosts: fileOf('git.knownHosts'),
    identity: fileOf('git.identity'),
    timeoutMs: get('git.timeout'),
    cacheAgeMs: get('git.cacheAge'),
    maxFetchBytes: get('git.maxFetch'),
  };
}

/** A token that a variable names is the user's, too, when it is asked where it may go. */
export function withGivenToken(
  user: ConfigFile,
  env: Readonly<Record<string, string | undefined>>,
): ConfigFile {
  const token = env[envNameOf('git.token')] ?? '';
  return token === '' ? user : { ...user, git: { ...user.git, token } };
}
