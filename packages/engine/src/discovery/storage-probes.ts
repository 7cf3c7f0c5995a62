import { accessSync, constants, existsSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { formatSize } from '@caisson/protocol';
import type { Probe } from './contract.ts';

const LITTLE_BYTES = 1024 ** 3;
const TOO_LITTLE_BYTES = 100 * 1024 ** 2;
const FEW_WATCHES = 8192;

export const diskProbe: Probe = {
  id: 'disk',
  async run({ stateDir }) {
    const folder = nearestExisting(stateDir);
    const { bavail, bsize } = statfsSync(folder);
    const free = bavail * bsize;
    const detail = `${formatSize(free)} free at ${folder}`;
    const remedy =
      'Free some space, or move the state folder with --state-dir; caisson gc removes what no run needs.';
    if (free < TOO_LITTLE_BYTES) return { verdict: 'fail', detail, remedy };
    return free < LITTLE_BYTES ? { verdict: 'warn', detail, remedy } : { verdict: 'ok', detail };
  },
};

/** A folder that does not exist yet is not created: it only must be possible. */
export const stateFolderProbe: Probe = {
  id: 'state-folder',
  async run({ stateDir }) {
    const folder = nearestExisting(stateDir);
    const refusal = folder === stateDir ? tryWrite(folder) : tryAccess(folder);
    const name = folder === stateDir ? stateDir : `${stateDir} (not created yet)`;
    if (refusal === null) return { verdict: 'ok', detail: `${name} is writable` };
    return {
      verdict: 'fail',
      detail: `${folder}: ${refusal}`,
      remedy: 'Make it writable for this user, or choose another with --state-dir.',
    };
  },
};

export const temporaryFolderProbe: Probe = {
  id: 'tmp',
  async run() {
    const folder = tmpdir();
    const refusal = existsSync(folder) ? tryWrite(folder) : 'does not exist';
    if (refusal === null) return { verdict: 'ok', detail: `${folder} is writable` };
    return {
      verdict: 'fail',
      detail: `${folder}: ${refusal}`,
      remedy: 'Set TMPDIR to a folder that this user can write to.',
    };
  },
};

export const localeProbe: Probe = {
  id: 'locale',
  async run({ env }) {
    const locale = [env['LC_ALL'], env['LC_CTYPE'], env['LANG']].find(
      (value) => value !== undefined && value !== '',
    );
    if (locale !== undefined && /utf-?8/i.test(locale)) return { verdict: 'ok', detail: locale };
    // Caisson itself always uses UTF-8 and gives agents C.UTF-8; only the user's terminal may differ.
    if (locale === undefined) return { verdict: 'ok', detail: 'not set; agents get C.UTF-8' };
    return {
      verdict: 'warn',
      detail: `${locale} is not UTF-8`,
      remedy: 'Set LANG=C.UTF-8, or names with other letters may look wrong in this terminal.',
    };
  },
};

export const fileWatchesProbe: Probe = {
  id: 'file-watches',
  async run() {
    const path = '/proc/sys/fs/inotify/max_user_watches';
    const limit = existsSync(path) ? Number(readFileSync(path, 'utf8')) : 0;
    if (limit >= FEW_WATCHES) return { verdict: 'ok', detail: `${limit} allowed` };
    return {
      verdict: 'warn',
      detail: `${limit} allowed; waiting falls back to polling`,
      remedy: `sysctl -w fs.inotify.max_user_watches=${FEW_WATCHES * 8}`,
    };
  },
};

export function nearestExisting(folder: string): string {
  return existsSync(folder) || dirname(folder) === folder ? folder : nearestExisting(dirname(folder));
}

function tryWrite(folder: string): string | null {
  try {
    rmSync(mkdtempSync(join(folder, '.probe-')), { recursive: true });
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function tryAccess(folder: string): string | null {
  try {
    accessSync(folder, constants.W_OK);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
