/** Removes what nothing refers to any more. The only copy of work is removed only on a person's request. */
import { statfsSync } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { explainError, isDiskFull, isErrno, measureTree, removeTree, unlessErrno } from '@caisson/ground';
import { BusTopic, definedOnly } from '@caisson/protocol';
import { createRunId } from '../platform/index.ts';
import { openUserHeads } from '../composition/user-keys.ts';
import { listLargest } from '../attempt/index.ts';
import type { Engine } from '../engine.ts';
import { ageOfOldestOpenRun } from './blob-roots.ts';
import { emptyTrash } from './empty-trash.ts';
import { finishForgotten, forgetOld, noteEnded, type ForgottenRuns } from './forget-old.ts';
import type { GarbageOptions, GarbageReport } from './garbage-report.ts';
import { findLeft, removeLeftWorkspaces, type Removal } from './left-workspaces.ts';
import { pruneRemotes } from './prune-remotes.ts';
import { repairOwnRefs } from './repair-own-refs.ts';
import { sweepStore, type SweptStore } from './sweep-store.ts';

export const DAY_MS = 86_400_000;
/** An agent's conversation that was not continued for this long is not resumed any more. */
const SESSION_TTL_MS = 7 * DAY_MS;
/** The note of the newest seal of a deleted project is kept for this long. */
const HEAD_TTL_MS = 30 * DAY_MS;
const SOCKET_AGE_MS = 60_000;
/** What is written, or locked, for this long has no living owner. */
const HALF_WRITTEN_AGE_MS = 60 * 60_000;
/** A draft of an atomic write, of a new ledger, a lock's own file. */
const HALF_WRITTEN = /^\.caisson-[0-9a-f]+\.tmp$|^\.ledger\.db\..+\.new|\.lock\.[0-9a-f]{24}$/;
/** The names that we make in the folder for temporary files, and no others of the user's that look alike. */
const TEMPORARY = /^caisson-(?:pipes-[0-9a-f]{16}|(?:probe|put|rehearsal)-[A-Za-z0-9]{6})$/;
/** A disk with less space is full: a run would not get far. */
const FULL_BYTES = 2 * 2 ** 20;
/** No attempt takes this long. */
const FOREIGN_GROUP_AGE_MS = 7 * DAY_MS;
/** Folders of `runtime` in which each attempt has its own file or folder, which its clean-up removes. */
const ATTEMPT_FOLDERS = ['jobs', 'captures', 'mailboxes', 'homes', 'layers', 'logins', 'net', 'overlays'];

export async function collectGarbage(engine: Engine, options: GarbageOptions = {}): Promise<GarbageReport> {
  const graceMs = Math.max(options.graceMs ?? DAY_MS, ageOfOldestOpenRun(engine));
  const { stateDir } = engine.config;
  const before = await measureSpace(stateDir);
  // What frees space comes first: the rest may need some.
  const runtime = await sweepRuntime(engine, graceMs);
  const emptied = await emptyTrash(engine, trashChoice(options));
  const progress = definedOnly({ onProgress: options.onProgress });
  const repairedRefs = await repairOwnRefs(engine, progress);
  await orFull(engine, undefined, () => undoLeftApplies(engine));
  await removeLeftOfRuns(engine);
  await removeForeignGroups(engine);
  await removeDeadSockets(engine);
  await removeHalfWritten(engine);
  openUserHeads(engine.config).prune(new Date(engine.clock.wallMs() - HEAD_TTL_MS));
  const ended = options.all === true ? await noteEnded(engine) : null;
  const { deleted, kept } = await emptyTrash(engine, trashChoice(options)); // also what went there just now
  await orFull(engine, undefined, () => finishForgotten(engine));
  const forgotten = await orFull(engine, NONE_FORGOTTEN, async () =>
    ended === null
      ? NONE_FORGOTTEN
      : forgetOld(engine, {
          ended,
          kept,
          olderThanMs: graceMs,
          withWork: options.heldBackTtlMs !== undefined,
        }),
  );
  const swept = await orFull(engine, NOTHING_SWEPT, () => sweepStore(engine, graceMs, progress));
  await sweepFolder(engine, join(stateDir, 'runtime', 'sessions'), Math.max(graceMs, SESSION_TTL_MS));
  await engine.workspaces.pruneOwn({ stateDir, olderThanMs: graceMs });
  const remotes = await orFull(engine, [], () => pruneRemotes(engine, graceMs, options));
  const sent = await sendMissing(engine);
  const sessions = await sweepPrivateSessions(engine, graceMs);
  const gone = [...emptied.deleted, ...deleted];
  return {
    ...swept,
    ...forgotten,
    ...runtime,
    ...{ sent, repairedRefs, sessions, remotes },
    workspaces: gone.map(({ path }) => path),
    deleted: gone.filter(({ why }) => why !== null),
    heldBack: kept,
    freedBytes: Math.max(0, before - (await measureSpace(stateDir))),
    largest: isFull(stateDir) ? await listLargest(stateDir) : [],
  };
}

/** Without the open ledger's own files, which are gone when it is closed. */
async function measureSpace(stateDir: string): Promise<number> {
  let bytes = 0;
  for (const name of await listIfThere(stateDir))
    if (!name.startsWith('ledger.db-')) bytes += await measureTree(join(stateDir, name));
  return bytes;
}

const NONE_FORGOTTEN: ForgottenRuns = { forgotten: [], unapplied: [], keptFor: {} };

function trashChoice({ trashTtlMs, heldBackTtlMs }: GarbageOptions): Parameters<typeof emptyTrash>[1] {
  return definedOnly({ trashTtlMs, heldBackTtlMs });
}

const NOTHING_SWEPT: SweptStore = { blobs: 0, bytes: 0, problems: [] };

/** A step for which the disk has no room is left to the next time, and keeps no other from being taken. */
async function orFull<T>({ bus }: Engine, otherwise: T, step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    if (!isDiskFull(error)) throw error;
    bus.emit(BusTopic.WARNING, { source: 'sweep', message: explainError(error) });
    return otherwise;
  }
}

function isFull(stateDir: string): boolean {
  const disk = unlessErrno(() => statfsSync(stateDir), null, 'ENOENT');
  return disk !== null && disk.bavail * disk.bsize < FULL_BYTES;
}

/** An unreachable bucket causes a warning, as everywhere. */
async function sendMissing({ mirror, bus }: Engine): Promise<number | null> {
  if (mirror === null) return null;
  try {
    return await mirror.sendMissing();
  } catch (error) {
    const message = `the bucket was not updated: ${(error as Error).message}`;
    bus.emit(BusTopic.WARNING, { source: 'store', message });
    return 0;
  }
}

async function undoLeftApplies({ workspaces, config, bus }: Engine): Promise<void> {
  for (const message of await workspaces.recoverApplies(config))
    bus.emit(BusTopic.WARNING, { source: 'apply', message });
}

/** A host that was killed very early left a socket that no row names. */
export async function removeDeadSockets({ hosts, hostId }: Engine): Promise<void> {
  for (const host of hosts.list(SOCKET_AGE_MS))
    if (host !== hostId && !(await hosts.isAlive(host))) hosts.forget(host);
}

/** Runs and residents of other projects share the place; nothing is known of them, and only the age decides. */
export async function removeForeignGroups({ rooms, ledger }: Engine): Promise<void> {
  await rooms.compute.removeLeftGroups(
    (owner, ageMs) => ageMs() > FOREIGN_GROUP_AGE_MS && ledger.run(owner) === null,
  );
}

/** A clean-up that was refused or failed when its run ended (a process still looked at it, a full disk) is tried again. */
export async function removeLeftOfRuns(engine: Engine): Promise<readonly Removal[]> {
  const isOver = findLeft(engine.ledger);
  await engine.rooms.compute.removeLeftGroups(isOver);
  const removals = await removeLeftWorkspaces(engine, isOver);
  for (const folder of ATTEMPT_FOLDERS.map((name) => join(engine.config.stateDir, 'runtime', name)))
    for (const name of await listIfThere(folder))
      if (isOver(runOf(name))) await removeTree(join(folder, name));
  return removals;
}

/** What ended attempts leave for later readers. */
export async function sweepRuntime(
  engine: Engine,
  graceMs: number,
): Promise<Pick<GarbageReport, 'results' | 'spools' | 'logs'>> {
  const folder = (name: string): string => join(engine.config.stateDir, 'runtime', name);
  // Drafts of a killed host name no run, so no clean-up of a run finds them.
  for (const name of ATTEMPT_FOLDERS) await sweepFolder(engine, folder(name), graceMs);
  return {
    results: await sweepFolder(engine, folder('results'), DAY_MS),
    spools: await sweepFolder(engine, folder('spool'), graceMs),
    logs:
      (await sweepFolder(engine, folder('events'), graceMs)) +
      (await sweepFolder(engine, folder('background'), graceMs, { isUnknownSwept: true })),
  };
}

/** Drafts and locks of killed processes in places that no other sweep covers. */
export async function removeHalfWritten({ config, clock }: Engine): Promise<void> {
  const { stateDir } = config;
  const own = [stateDir, join(stateDir, 'runtime')];
  const places = [
    ...own.map((folder) => ({ folder, isOurs: (name: string) => HALF_WRITTEN.test(name) })),
    { folder: tmpdir(), isOurs: (name: string) => TEMPORARY.test(name) },
  ];
  for (const { folder, isOurs } of places)
    for (const name of (await listIfThere(folder)).filter(isOurs)) {
      const found = await lstat(join(folder, name)).catch(() => null);
      const isOld = found !== null && clock.wallMs() - found.mtimeMs > HALF_WRITTEN_AGE_MS;
      if (isOld && found.uid === process.getuid?.()) await removeTree(join(folder, name));
    }
}

async function sweepPrivateSessions(engine: Engine, olderThanMs: number): Promise<readonly string[]> {
  const names = (await engine.sessions.list())
    .filter(({ changedAt }) => engine.clock.wallMs() - Date.parse(changedAt) >= olderThanMs)
    .map(({ name }) => name)
    .filter((name) => engine.ledger.run(name)?.ending !== undefined);
  await engine.sessions.remove(names);
  return names;
}

/**
 * A task that was refused, or whose host died before its acceptance, has files but no run: `isUnknownSwept` removes
 * those.
 */
async function sweepFolder(
  engine: Engine,
  folder: string,
  olderThanMs: number,
  { isUnknownSwept = false } = {},
): Promise<number> {
  const names = await listIfThere(folder);
  let removed = 0;
  // Ids sort by time: a file of a run that was accepted later cannot be old enough, and is not read.
  const newest = createRunId({ wallMs: () => engine.clock.wallMs() - olderThanMs });
  for (const name of names) {
    const runId = runOf(name);
    const isHalfWritten = name.startsWith('.caisson-') && name.endsWith('.tmp'); // by a killed process
    if (!isHalfWritten && runId > newest) continue;
    if (!isHalfWritten && !isOver(engine, runId, isUnknownSwept)) continue;
    const path = join(folder, name);
    const found = await lstat(path).catch(() => null);
    if (found === null || engine.clock.wallMs() - found.mtimeMs < olderThanMs) continue; // or another host was faster
    await removeTree(path);
    removed += 1;
  }
  return removed;
}

/** Names in the runtime folders begin with the run's. */
function runOf(name: string): string {
  return name.split('.', 1)[0] ?? '';
}

async function listIfThere(folder: string): Promise<string[]> {
  return await readdir(folder).catch((error: unknown) => {
    if (isErrno(error, 'ENOENT')) return [];
    throw error;
  });
}

function isOver({ ledger }: Engine, runId: string, isUnknownOver: boolean): boolean {
  const run = ledger.run(runId);
  return run === null ? isUnknownOver : run.ending !== undefined;
}
