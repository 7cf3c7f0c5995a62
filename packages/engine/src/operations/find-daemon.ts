/** The daemon of a project, as another process sees it. */
import { join } from 'node:path';
import { isListening, isStopped } from '@caisson/ground';
import type {
  DaemonIdentity,
  DaemonStatus,
  FaceOrder,
  FaceStanding,
  ReloadReport,
  StopOrder,
} from '@caisson/protocol';
import { loadConfigToRead } from '../composition/trusted-config.ts';
import type { ResolvedConfig } from '../config/index.ts';
import {
  askForFace,
  askMetrics,
  askStatus,
  askToEndFace,
  askToReload,
  askToStop,
  DaemonSilentError,
  describeDaemon,
  isProcessOf,
  LedgerInUseError,
  NoDaemonError,
  OtherDaemonError,
  SOCKET_NAME,
  type SaidRuns,
} from '../daemon/index.ts';
import { findStateFolder } from '../trust/index.ts';
import type { DaemonWorkers } from './waiting-workers.ts';

const GONE_POLL_MS = 50;
const PROGRESS_MS = 500;

export interface DaemonPlace {
  /** State folder instead of `.caisson` in the project. */
  readonly stateDir?: string | undefined;
  /** Called with each problem of a configuration that is not valid; a daemon is found all the same. */
  readonly onUnread?: ((problem: string) => void) | undefined;
}

/** `silent`: it lives, but nothing answers. `isHidden`: its process cannot be seen from here, as that of a container. */
export type DaemonStanding =
  | { readonly kind: 'answers'; readonly status: DaemonStatus }
  | {
      readonly kind: 'silent';
      readonly identity: DaemonIdentity;
      readonly isStopped: boolean;
      readonly isHidden: boolean;
      readonly workers: DaemonWorkers;
    }
  /** It answers in a form of another version. */
  | { readonly kind: 'foreign'; readonly identity: DaemonIdentity; readonly workers: DaemonWorkers }
  /** `waiting`: runs whose agents go on without one. */
  | { readonly kind: 'none'; readonly waiting: readonly string[] };

/** Throws StateFolderRefused for a state folder that is not ours. */
export async function findDaemon(place: DaemonPlace = {}): Promise<DaemonStanding> {
  return await findDaemonOf(await loadConfigToRead({ flags: { state: place.stateDir } }, place.onUnread));
}

export async function findDaemonOf(config: ResolvedConfig): Promise<DaemonStanding> {
  const { stateDir } = config;
  if (findStateFolder(config) === null) return { kind: 'none', waiting: [] };
  if (await isListening(join(stateDir, 'runtime'), SOCKET_NAME)) {
    const found = await askStatus(stateDir).then(
      (status): DaemonStanding => ({ kind: 'answers', status }),
      describeNoAnswer,
    );
    if (found !== null) return found;
  }
  return await findInLedger(config);
}

function describeNoAnswer(error: unknown): DaemonStanding | null {
  if (error instanceof DaemonSilentError) return null;
  if (error instanceof OtherDaemonError && error.identity !== null)
    return { kind: 'foreign', identity: error.identity, workers: toWorkers(error.runs) };
  throw error;
}

/** What a daemon speaks that does not say it. */
const FIRST_ADOPTION = 1;

/** Where it does not say how many run, there may be some. */
export function toWorkers({
  running,
  queued = 0,
  adoptionVersion = FIRST_ADOPTION,
}: SaidRuns): DaemonWorkers {
  return { running: running ?? 0, queued, adoptionVersions: running === 0 ? [] : [adoptionVersion] };
}

/** Throws for a ledger that this version cannot read. An older ledger is left as it is while its daemon lives: what is known of that one is its lease. */
export async function findInLedger(config: ResolvedConfig): Promise<DaemonStanding> {
  return await readLedger(config).catch((error: unknown) => {
    if (!(error instanceof LedgerInUseError)) throw error;
    return toSilent(error.daemon, toWorkers({}));
  });
}

function toSilent(identity: DaemonIdentity, workers: DaemonWorkers): DaemonStanding {
  const isHidden = !isProcessOf(identity);
  return { kind: 'silent', identity, isHidden, isStopped: !isHidden && isStopped(identity.pid), workers };
}

/** What the ledger says about a daemon that does not answer. */
async function readLedger(config: ResolvedConfig): Promise<DaemonStanding> {
  const { createLocalHosts, findLeaseHolder, findWaitingRuns, findWorkersOf, openState } =
    await import('../composition/in-process.ts');
  const { ledger } = openState(config, { isMade: false });
  try {
    const hosts = createLocalHosts(config.stateDir);
    const isHostAlive = (id: string): Promise<boolean> => hosts.isAlive(id);
    const identity = await findLeaseHolder({ ledger, isHostAlive });
    if (identity === null)
      return { kind: 'none', waiting: await findWaitingRuns(ledger, config.stateDir, isHostAlive) };
    return toSilent(identity, findWorkersOf(ledger, identity.hostId));
  } finally {
    await ledger.close();
  }
}

/** The status of the daemon; throws NoDaemonError, or DaemonSilentError with what to do about it. */
export async function requireDaemon(place: DaemonPlace = {}): Promise<DaemonStatus> {
  return requireAnswer(await findDaemon(place));
}

export function requireAnswer(standing: DaemonStanding): DaemonStatus {
  if (standing.kind === 'answers') return standing.status;
  if (standing.kind === 'foreign') throw new OtherDaemonError(standing.identity);
  if (standing.kind === 'none')
    throw new NoDaemonError('no daemon serves this project', { remedy: 'Start one: caisson up -d.' });
  throw describeSilent(standing);
}

/** Its pid is another process here, or none. */
export const END_UNSEEN_REMEDY =
  'Its process cannot be seen from here: end it where it was started, in its container for example.';

/** Why a daemon that lives does not answer, and the remedy. */
export function describeSilent({
  identity,
  isStopped,
  isHidden,
}: Extract<DaemonStanding, { kind: 'silent' }>): DaemonSilentError {
  const { pid } = identity;
  const who = describeDaemon(identity);
  const end = isHidden ? END_UNSEEN_REMEDY : `To end it: kill ${pid}.`;
  return isStopped
    ? new DaemonSilentError(`the daemon of this project is stopped (${who})`, {
        remedy: `Let it go on: kill -CONT ${pid}. Or replace it: caisson up -d --replace; its running agents go on.`,
      })
    : new DaemonSilentError(`the daemon of this project does not answer (${who})`, {
        remedy: `It may be starting, ending or very busy: try again. ${end}`,
      });
}

export interface StopOptions extends DaemonPlace {
  readonly order: StopOrder;
  /** Called now and then with what it still waits for. */
  onProgress?(status: DaemonStatus): void;
  /** Ends the wait; the daemon goes on with the order. */
  readonly signal?: AbortSignal;
}

export interface StoppedDaemon {
  /** `left`: the wait was ended before the daemon's process was gone. */
  readonly outcome: 'gone' | 'left';
  /** The runs that it had when it was asked. */
  readonly runs: DaemonStatus['runs'];
  /** Workers of residents that it had. */
  readonly residents: number;
  /** Threads that had not ended. */
  readonly threads: number;
}

/** Resolves when the daemon's process is gone, or the wait was ended. Throws NoDaemonError without one. */
export async function stopDaemon(options: StopOptions): Promise<StoppedDaemon> {
  const { order, onProgress, signal } = options;
  const status = await requireDaemon(options);
  const { stateDir, runs } = status;
  const had = { runs, ...countResidents(status) };
  const isThere = await findPresence(status, stateDir);
  await askToStop(stateDir, order);
  let askedMs = -Infinity;
  while (await isThere()) {
    if (signal?.aborted === true) return { outcome: 'left', ...had };
    if (onProgress !== undefined && performance.now() - askedMs >= PROGRESS_MS) {
      askedMs = performance.now();
      const now = await askStatus(stateDir).catch(() => null); // its socket goes before its process
      if (now !== null) onProgress(now);
    }
    await new Promise((resolve) => setTimeout(resolve, GONE_POLL_MS));
  }
  return { outcome: 'gone', ...had };
}

/** Whether the daemon is still there, asked again and again: of its process, or of its host's socket if that is hidden. */
export async function findPresence(
  identity: DaemonIdentity,
  stateDir: string,
): Promise<() => boolean | Promise<boolean>> {
  if (isProcessOf(identity)) return () => isProcessOf(identity);
  const { createLocalHosts } = await import('../composition/in-process.ts');
  const hosts = createLocalHosts(stateDir);
  return () => hosts.isAlive(identity.hostId);
}

function countResidents({ residents = [], threads }: DaemonStatus): { residents: number; threads: number } {
  const { queued = 0, running = 0, waiting = 0 } = threads ?? {};
  return {
    residents: residents.filter(({ pid }) => pid !== undefined).length,
    threads: queued + running + waiting,
  };
}

/** A page on the daemon, which listens on TCP for it. Throws NoDaemonError without one. */
export async function openFace({
  stateDir: given,
  onUnread,
  ...order
}: DaemonPlace & FaceOrder): Promise<FaceStanding> {
  const { stateDir } = await requireDaemon({ stateDir: given, onUnread });
  return await askForFace(stateDir, order);
}

/** Ends that. */
export async function closeFace(place: DaemonPlace = {}): Promise<void> {
  const { stateDir } = await requireDaemon(place);
  await askToEndFace(stateDir);
}

/** What the daemon has counted since it began, as a page for Prometheus. */
export async function readDaemonMetrics(place: DaemonPlace = {}): Promise<string> {
  const { stateDir } = await requireDaemon(place);
  return await askMetrics(stateDir);
}

/** Lets the daemon read its configuration again. Throws NoDaemonError without one. */
export async function reloadDaemon(place: DaemonPlace = {}): Promise<ReloadReport> {
  const { stateDir } = await requireDaemon(place);
  return await askToReload(stateDir);
}
