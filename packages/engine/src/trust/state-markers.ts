/** Writes the markers of state folders, outside of every repository; config reads them. */
import { randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  isPrivateFolder,
  makeFolder,
  ownUid,
  statIfThere,
  writeFileAtomicSync,
  removeFileSync,
} from '@caisson/ground';
import { markersFolder, type StateMarker } from '../config/index.ts';
import { StateMarkerError } from './state-errors.ts';
import type { StatePlace } from './state-inspection.ts';

/** A new id and secret for the folder at `path`. Throws {@link StateMarkerError} if the marker cannot be stored. */
export function createMarker(
  place: StatePlace,
  path: string,
  more: Pick<StateMarker, 'adoptsLedger'> = {},
): StateMarker {
  const marker: StateMarker = {
    schemaVersion: 1,
    id: randomBytes(16).toString('hex'),
    ...describeFolder(path),
    secret: randomBytes(32).toString('hex'),
    ...more,
  };
  const folder = markersFolder(place.folders.state);
  try {
    demandOwnPlace(folder);
    makeFolder(folder);
    if (!isPrivateFolder(folder)) throw new Error('it is not a folder that only this user can write');
    writeFileAtomicSync(fileOf(place, marker), JSON.stringify(marker));
  } catch (error) {
    throw new StateMarkerError(place.stateDir, folder, error as NodeJS.ErrnoException);
  }
  return marker;
}

/** Best effort: without it the next command only checks again. */
export function updateMarker(place: StatePlace, marker: StateMarker): void {
  try {
    writeFileAtomicSync(fileOf(place, marker), JSON.stringify(marker));
  } catch {
    // a user folder that is read-only or full
  }
}

export function removeMarker(place: StatePlace, marker: StateMarker): void {
  removeFileSync(fileOf(place, marker));
}

/** What distinguishes the folder from a copy of it. */
export function describeFolder(path: string): Pick<StateMarker, 'path' | 'dev' | 'ino'> {
  const { dev, ino } = statSync(path, { bigint: true });
  return { path, dev: `${dev}`, ino: `${ino}` };
}

function fileOf({ folders }: StatePlace, { id }: StateMarker): string {
  return join(markersFolder(folders.state), `${id}.json`);
}

/** With `sudo` and another user's HOME we would leave files that their owner cannot write any more. */
function demandOwnPlace(folder: string): void {
  const stats = statIfThere(folder, 'target');
  if (stats === null && dirname(folder) !== folder) return demandOwnPlace(dirname(folder));
  if (stats !== null && stats.uid !== ownUid() && stats.uid !== 0)
    throw new Error(`${folder} belongs to user ${stats.uid}, and this is user ${ownUid()}`);
}
