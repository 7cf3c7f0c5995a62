/**
 * The state folder is ours or it is not opened.
 *
 * absent ──create──► ours            refused (with the reason)
 * adoptable ──adopt──► ours ──copied, or its id lost──► adoptable
 *
 * S1  Ours is a real folder of this user that nobody else can write, that git does not track, and that is marked as made
 *     here outside of the repository. Every condition is checked by every process that opens it.
 * S2  Making one is safe to race and safe to cut off: the marker comes first, then the id appears in one step.
 * S3  Adopting makes the folder ours, not what lies in it: what carries no signature of ours is still not acted on.
 */
import { randomBytes } from 'node:crypto';
import { chmodSync, linkSync, renameSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import {
  createSeal,
  isErrno,
  makeFolder,
  readSmallFileSync,
  statIfThere,
  writeFileAtomicSync,
  writeNewFileSync,
  type Seal,
} from '@caisson/ground';
import { readMarkedState, STATE_ID_FILE, type StateMarker } from '../config/index.ts';
import { StateFolderError, StateFolderRefused } from './state-errors.ts';
import { inspectPlace, isEmptyState, type StatePlace } from './state-inspection.ts';
import { createMarker, describeFolder, removeMarker, updateMarker } from './state-markers.ts';

/** A state folder that may be used. */
export interface OwnState {
  readonly id: string;
  /** Signs what is written into the folder, and knows it again. */
  readonly seal: Seal;
  /** Whether a ledger that carries no signature is to be taken over. */
  readonly adoptsLedger: boolean;
  /** The ledger carries our signature now. */
  ledgerIsOurs(): void;
}

const MAX_TRIES = 5;

/** The state folder of a project, made if there is none. Throws {@link StateFolderRefused} for one that is not ours. */
export function openStateFolder(place: StatePlace): OwnState {
  for (let tries = 1; ; tries += 1) {
    const standing = inspectPlace(place);
    switch (standing.kind) {
      case 'ours':
        return toOwnState(place, rememberPlace(place, standing.marker, standing));
      case 'absent':
        createStateFolder(place);
        if (tries < MAX_TRIES) continue;
        throw new StateFolderError(place.stateDir, new Error('it is removed as soon as it is made'));
      case 'adoptable':
        throw new StateFolderRefused('adoptable', standing.detail, standing.remedy);
      case 'refused':
        throw new StateFolderRefused(standing.reason, standing.detail, standing.remedy);
    }
  }
}

/**
 * For `caisson trust`, after the user has agreed: makes an adoptable folder ours, with an id of its own. One that is ours
 * already stays as it is; one that is refused throws {@link StateFolderRefused}.
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

/** S2. Whoever comes second finds the folder complete. */
function createStateFolder(place: StatePlace): void {
  const { stateDir } = place;
  const isNew = statIfThere(stateDir, 'itself') === null;
  guardWriting(stateDir, () => {
    makeFolder(stateDir);
    chmodSync(stateDir, 0o700);
  });
  if (!isEmptyState(stateDir)) return; // from now on nobody else can put anything in: look again
  clearStaleId(place);
  let marker: StateMarker;
  try {
    marker = createMarker(place, stateDir);
  } catch (error) {
    if (isNew) tryTo(() => rmdirSync(stateDir)); // unless somebody else uses it by now
    throw error;
  }
  try {
    guardWriting(stateDir, () => {
      // It ignores itself, so that no project has to. What lies there under that name is not written through.
      writeFileAtomicSync(join(stateDir, '.gitignore'), '*\n');
      if (!writeNewFileSync(join(stateDir, STATE_ID_FILE), `${marker.id}\n`)) removeMarker(place, marker);
    });
  } catch (error) {
    removeMarker(place, marker);
    throw error;
  }
}

/**
 * An id comes after its marker: one without is what a creation that was undone, or another user folder, left. Another
 * process may replace it meanwhile, so it is moved away first, and put back if it is not the one that was looked at.
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

/** What lies under the name of the id: null when nothing does, empty when it is no file that holds one. */
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
    // best effort, as its callers say
  }
}

/** Where the folder is now, and which index was found clean. A user folder that cannot be written costs only time. */
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
  return {
    id: marker.id,
    seal: createSeal(Buffer.from(marker.secret, 'hex')),
    adoptsLedger: marker.adoptsLedger === true,
    ledgerIsOurs() {
      const { adoptsLedger: _done, ...rest } = marker;
      updateMarker(place, rest);
    },
  };
}
