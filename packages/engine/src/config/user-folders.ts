import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import type { UserFolders } from './contract.ts';

/** The XDG folders. A relative value in the environment is ignored, as the XDG specification asks. */
export function resolveUserFolders(env: Readonly<Record<string, string | undefined>>): UserFolders {
  const home = env['HOME'] !== undefined && isAbsolute(env['HOME']) ? env['HOME'] : homedir();
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
