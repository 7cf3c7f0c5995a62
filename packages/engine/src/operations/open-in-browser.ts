/** Shows a page in the user's browser. */
import { mkdirSync, openSync, closeSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startDetached } from '@caisson/ground';
import { definedOnly } from '@caisson/protocol';
import { loadConfigToRead } from '../composition/trusted-config.ts';
import { readHostEnvironment } from '../config/index.ts';
import type { DaemonPlace } from './find-daemon.ts';

/**
 * False where no browser can be opened. The link is secret and command lines are not, so the browser gets a file that only this
 * user can read, which leads on to the link.
 */
export async function openInBrowser(link: string, place: DaemonPlace = {}): Promise<boolean> {
  const env = readHostEnvironment();
  const hasScreen = process.platform === 'darwin' || 'DISPLAY' in env || 'WAYLAND_DISPLAY' in env;
  if (!hasScreen) return false;
  const { stateDir } = await loadConfigToRead({ flags: { state: place.stateDir } });
  const folder = join(stateDir, 'runtime');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const page = join(folder, 'open-dashboard.html');
  writeFileSync(page, `<!doctype html><meta http-equiv="refresh" content="0;url=${link}">\n`, {
    mode: 0o600,
  });
  const logFd = openSync('/dev/null', 'w');
  try {
    const file = process.platform === 'darwin' ? 'open' : 'xdg-open';
    return (await startDetached({ file, args: [page], cwd: folder, env: definedOnly(env), logFd })) > 0;
  } catch {
    return false;
  } finally {
    closeSync(logFd);
  }
}
