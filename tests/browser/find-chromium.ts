import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** Debian's chromium; installed, as root, where there is none. */
export function findChromium(): string {
  const found = PLACES.find((place) => existsSync(place));
  if (found !== undefined) return found;
  for (const words of [['update'], ['install', '-y', '--no-install-recommends', 'chromium']])
    execFileSync('apt-get', words, {
      stdio: 'ignore',
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    });
  return PLACES[0] ?? '';
}
