import { statSync } from 'node:fs';
import { userInfo } from 'node:os';
import { isAbsolute, join } from 'node:path';
import type { UserFolders } from './contract.ts';
import { ConfigError } from './errors.ts';

/** The XDG folders. A relative value in the environment is ignored, as the XDG specification asks. */
export function resolveUserFolders(env: Readonly<Record<string, string | undefined>>): UserFolders {
  const home = env['HOME'] !== undefined && isAbsolute(env['HOME']) ? env['HOME'] : homeOfUser();
  demandHome(home);
  const folder = (name: string, fallback: string): string => {
    const given = env[name];
    const base = given !== undefined && isAbsolute(given) ? given : join(home, fallback);
    return join(base, 'caisson');
  };
  return {
    home,
    config: folder('XDG_CONFIG_HOME', '.config'),
    cache: folder('XDG_CACHE_HOME', '.cache'),
    data: folder('XDG_DATA_HOME', '.local/share'),
    state: folder('XDG_STATE_HOME', '.local/state'),
  };
}

/**
 * A sandbox replaces HOME with its own folder, which must not be the kernel's. A missing HOME is accepted: it only has
 * keys and a cache.
 */
function demandHome(home: string): void {
  const isFolder = statSync(home, { throwIfNoEntry: false })?.isDirectory() ?? true;
  if (isFolder && !/^\/((proc|sys)(\/|$)|dev\/?$)/.test(home)) return;
  const message = `${home} is ${isFolder ? 'a folder of the system' : 'not a folder'}.`;
  throw new ConfigError([{ file: 'HOME', message }], { remedy: 'Set HOME to a folder of this user.' });
}

/** `os.homedir()` would accept a relative HOME; the password file never has one. */
function homeOfUser(): string {
  try {
    return userInfo().homedir;
  } catch (cause) {
    const message = 'is not set to an absolute path, and this user has no entry in the password file.';
    throw new ConfigError([{ file: 'HOME', message }], {
      cause,
      remedy: 'Set HOME to a folder of this user.',
    });
  }
}
