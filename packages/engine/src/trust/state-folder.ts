/**
 * The state folder is ours or it is not opened.
 *
 * absent ──create──► ours            refused (with the reason)
 * adoptable ──adopt──► ours ──copied, or its id lost──► adoptable
 *
 * S1  Ours is a real folder of this user that only this user can write, that git does not track, and that is marked as
 *     made here outside of the repository. Every process that opens it checks every condition.
 * S2  Making one is safe to race and safe to interrupt: the marker comes first, then the id appears in one step.
 * S3  Adopting makes the folder ours, not its content: what carries no signature of ours still has no effect.
 */
import { randomBytes } from 'node:crypto';
import { chmodSync, linkSync, renameSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import {
  createStamp,
  isErrno,
  makeFolder,
  readSmallFileSync,
  statIfThere,
  writeFileAtomicSync,
  writeNewFileSync,
  type Stamp,
} from '@caisson/ground';
import { readMarkedState, STATE_ID_FILE, type StateMarker } from '../config/index.ts';
import { StateFolderError, StateFolderRefused } from './state-errors.ts';
import { inspectPlace, isEmptyState, type StatePlace } from './state-inspection.ts';
import { createMarker, describeFolder, removeMarker, updateMarker } from './state-markers.ts';

/** A state folder that may be used. */
export interface OwnState {
  readonly id: string;
  /** Signs what is written into the folder, and knows it again. */
  readonly stamp: Stamp;
  /** What the stamp signs with. */
  readonly secret: Uint8Array;
  /** Whether to adopt a ledger without a signature. */
  readonly adoptsLedger: boolean;
  /** The ledger carries our signature now. */
  ledgerIsOurs(): void;
}

const MAX_TRIES = 5;

/** The state folder of a project, made if there is none. Throws {@link StateFolderRefused} for one that is not ours. */
export function openStateFolder(place: StatePlace): OwnState {
  for (let tries = 1; ; tries += 1) {
    const found = findStateFolder(place);
    if (found !== null) return found;
    createStateFolder(place);
    if (tries < MAX_TRIES) continue;
    throw new StateFolderError(place.stateDir, new Error('it is removed as soon as it is made'));
  }
}

/** The same for a project that may have none: null then, and none is made. */
export function findStateFolder(place: StatePlace): OwnState | null {
  const standing = inspectPlace(place);
  switch (standing.kind) {
    case 'ours':
      return toOwnState(place, rememberPlace(place, standing.marker, standing));
    case 'absent':
      return null;
    case 'adoptable':
      throw new StateFolderRefused('adoptable', standing.detail, standing.remedy);
    case 'refused':
      throw new StateFolderRefused(standing.reason, standing.detail, standing.remedy);
  }
}

/**
 * For `caisson trust`, after the user has agreed: makes an adoptable folder ours, with its own id. One that is already
 * ours stays as it is; one that is refused throws {@link StateFolderRefused}.
 */
export function adoptStateFolder(place: StatePlace): void {
  const standing = inspectPlace(place);
  if (standing.kind === 'refused')
    throw new StateFolderRefused(standing.reason, standing.detail, standing.remedy);
  if (standing.kind !== 'adoptable') return;
  const { path } = standing;
  const marker = createMarker(place, path, { adoptsLedger: true });
  writeFileAtomicSync(join(path, STATE_ID_FILE), `${marker.id}\n`);
}

/** S2. The second process finds the folder complete. */
function createStateFolder(place: StatePlace): void {
  const { stateDir } = place;
  const isNew = statIfThere(stateDir, 'itself') === null;
  guardWriting(stateDir, () => {
    makeFolder(stateDir);
    chmodSync(stateDir, 0o700);
  });
  if (!isEmptyState(stateDir)) return; // from now on no other user can add anything: check again
  clearStaleId(place);
  let marker: StateMarker;
  try {
    marker = createMarker(place, stateDir);
  } catch (error) {
    if (isNew) tryTo(() => rmdirSync(stateDir)); // unless another process uses it by now
    throw error;
  }
  try {
    guardWriting(stateDir, () => {
      // It ignores itself, so that no project has to. An existing file of that name is not written through.
      writeFileAtomicSync(join(stateDir, '.gitignore'), '*\n');
      if (!writeNewFileSync(join(stateDir, STATE_ID_FILE), `${marker.id}\n`)) removeMarker(place, marker);
    });
  } catch (error) {
    removeMarker(place, marker);
    throw error;
  }
}

/**
 * An id comes after its marker: an id without one was left by an undone creation, or by another user folder. Another
 * process may replace it meanwhile, so it is moved away first, and put back if it is not the one that was read.
 */
function clearStaleId({ stateDir, folders }: StatePlace): void {
  const file = join(stateDir, STATE_ID_FILE);
  const stale = readId(file);
  if (stale === null || readMarkedState(stateDir, folders.state).kind === 'known') return;
  const aside = `${file}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    renameSync(file, aside);
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return; // another process was faster
    throw new StateFolderError(stateDir, error as NodeJS.ErrnoException);
  }
  if (readId(aside) !== stale) tryTo(() => linkSync(aside, file)); // unless there is a newer one
  rmSync(aside, { recursive: true, force: true });
}

/** The content of the id file: null when there is none, empty when it is not a valid file. */
function readId(file: string): string | null {
  if (statIfThere(file, 'itself') === null) return null;
  return readSmallFileSync(file, 64)?.text ?? '';
}

function guardWriting(stateDir: string, work: () => void): void {
  try {
    work();
  } catch (error) {
    throw new StateFolderError(stateDir, error as NodeJS.ErrnoException);
  }
}

function tryTo(work: () => void): void {
  try {
    work();
  } catch {
    // best effort, as its callers expect
  }
}

/** Where the folder is now, and which index was found clean. A user folder that cannot be written only costs time. */
function rememberPlace(
  place: StatePlace,
  marker: StateMarker,
  { path, index }: { path: string; index: string },
): StateMarker {
  const now = { ...marker, ...describeFolder(path), index };
  if (JSON.stringify(now) !== JSON.stringify(marker)) updateMarker(place, now);
  return now;
}

function toOwnState(place: StatePlace, marker: StateMarker): OwnState {
  const secret = Buffer.from(marker.secret, 'hex');
  return {
    id: marker.id,
    stamp: createStamp(secret),
    secret,
    adoptsLedger: marker.adoptsLedger === true,
    ledgerIsOurs() {
      const { adoptsLedger: _done, ...rest } = marker;
      updateMarker(place, rest);
    },
  };
}
