/**
 * The state folders of other projects of the same user contain their agents' output; a run must not see them. They are
 * searched in their usual places: in the folders beside the project and beside those above it. Everything under HOME,
 * /home, /root, /tmp or /run is hidden anyway.
 */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createShortMemory } from '../platform/index.ts';

const STATE = '.caisson';
const MAX_FOUND = 64;
const MAX_NAMES = 4096;
const HIDDEN_ANYWAY = ['/home', '/root', '/tmp', '/var/tmp', '/run', '/proc', '/sys', '/dev'];

const recall = createShortMemory<readonly string[]>();

/** The same for all jobs of a moment. */
export function recallNeighbourStates(projectRoot: string, home: string): readonly string[] {
  return recall(`${projectRoot}\n${home}`, () => findNeighbourStates(projectRoot, home));
}

/** Absolute paths, the nearest first. */
export function findNeighbourStates(
  projectRoot: string,
  home: string,
  hiddenAnyway: readonly string[] = HIDDEN_ANYWAY,
): string[] {
  const isHidden = (folder: string): boolean =>
    [...hiddenAnyway, home].some((place) => folder === place || folder.startsWith(`${place}/`));
  const found: string[] = [];
  for (let folder = dirname(projectRoot); found.length < MAX_FOUND; folder = dirname(folder)) {
    if (!isHidden(folder)) found.push(...findBelow(folder, projectRoot));
    if (folder === dirname(folder)) break;
  }
  return [...new Set(found)].slice(0, MAX_FOUND); // an outer project is both above and beside
}

function findBelow(folder: string, projectRoot: string): string[] {
  const states = ['', ...listNames(folder)].map((name) => join(folder, name, STATE));
  return states.filter((state) => dirname(state) !== projectRoot && holdsLedger(state));
}

function listNames(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .slice(0, MAX_NAMES)
      .map((entry) => entry.name);
  } catch (error) {
    if (['EACCES', 'ENOENT'].includes((error as NodeJS.ErrnoException).code ?? '')) return [];
    throw error;
  }
}

function holdsLedger(state: string): boolean {
  return existsSync(join(state, 'ledger.db')) && statSync(state).isDirectory();
}
