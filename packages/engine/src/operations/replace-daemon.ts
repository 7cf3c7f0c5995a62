/** `up --replace`: ends the daemon of the project for the next one, if that could start and understands its workers. */
import { existsSync } from 'node:fs';
import { sendSignal } from '@caisson/ground';
import { ADOPTION_VERSION, type DaemonIdentity } from '@caisson/protocol';
import { loadConfig, requireTrust } from '../composition/trusted-config.ts';
import {
  askToStop,
  DaemonNotReplacedError,
  describeDaemon,
  isProcessOf,
  OtherDaemonError,
  OtherProjectError,
} from '../daemon/index.ts';
import { requireSafeListening } from '../face/index.ts';
import {
  END_UNSEEN_REMEDY,
  findDaemonOf,
  findInLedger,
  findPresence,
  toWorkers,
  type DaemonPlace,
  type DaemonStanding,
} from './find-daemon.ts';
import type { DaemonWorkers } from './waiting-workers.ts';

const GONE_POLL_MS = 50;
/** A daemon that does not end by itself within this time is killed: its agents go on, and the next one adopts them. */
const LEAVE_MS = 10_000;

export interface ReplacedDaemon {
  /** Who it was, in words. */
  readonly daemon: string;
  /** Its runs with a worker; 0 where its answer could not be understood. */
  readonly running: number;
  /** Its runs without a worker, which end with it. */
  readonly queued: number;
  /** Whether workers wait for the next daemon at all. */
  readonly isAdopted: boolean;
}

/** Returns null if there is none. What would keep the next one from starting is thrown while the old one goes on. */
export async function endForNext(place: DaemonPlace = {}): Promise<ReplacedDaemon | null> {
  const config = await loadConfig({ flags: { state: place.stateDir } });
  await requireTrust(config);
  requireSafeListening(config.api);
  const standing = await findDaemonOf(config);
  if (standing.kind === 'none') return null;
  if (standing.kind === 'answers') demandSameProject(config.projectRoot, standing.status.projectRoot);
  const identity = standing.kind === 'answers' ? standing.status : standing.identity;
  const workers = workersOf(standing);
  demandUnderstood(workers);
  if (standing.kind !== 'silent') await findInLedger(config); // a silent one was looked for there already
  const isHidden = !isProcessOf(identity);
  if (isHidden && standing.kind === 'silent') throw refuseHidden(identity, 'does not answer');
  const isThere = await findPresence(identity, config.stateDir);
  const isStopped = standing.kind === 'silent' && standing.isStopped;
  if (standing.kind !== 'silent') await askToLeave(config.stateDir);
  else if (!isStopped) signalDaemon(identity, 'SIGTERM'); // the order to leave, for one that takes none
  const untilMs = performance.now() + (isStopped ? 0 : LEAVE_MS);
  while (await isThere()) {
    const isOver = performance.now() >= untilMs;
    if (isOver && isHidden) throw refuseHidden(identity, 'has not ended yet');
    if (isOver) signalDaemon(identity, 'SIGKILL'); // a stopped one gets no other
    await new Promise((resolve) => setTimeout(resolve, GONE_POLL_MS));
  }
  return {
    daemon: describeDaemon(identity),
    running: workers.running,
    queued: workers.queued,
    isAdopted: config.limits.adoptWithinMs > 0,
  };
}

/** Another process that has its pid, here or by now, gets no signal. */
function signalDaemon(identity: DaemonIdentity, signal: NodeJS.Signals): void {
  if (isProcessOf(identity)) sendSignal(identity.pid, signal);
}

function refuseHidden(identity: DaemonIdentity, what: string): DaemonNotReplacedError {
  return new DaemonNotReplacedError(`the daemon of this project ${what} (${describeDaemon(identity)})`, {
    remedy: END_UNSEEN_REMEDY,
  });
}

type Present = Exclude<DaemonStanding, { kind: 'none' }>;

function workersOf(standing: Present): DaemonWorkers {
  return standing.kind === 'answers' ? toWorkers(standing.status) : standing.workers;
}

/** A project that was moved is served where it is now; another one that is where it was keeps its daemon. */
function demandSameProject(here: string, served: string): void {
  if (served !== here && existsSync(served)) throw new OtherProjectError(here, served, true);
}

function demandUnderstood({ running, adoptionVersions }: DaemonWorkers): void {
  const other = adoptionVersions.find((version) => version !== ADOPTION_VERSION);
  if (other === undefined) return;
  throw new DaemonNotReplacedError(
    `the agents of the daemon (${running} running) could not be adopted: their workers speak version ${other} of adoption, and this Caisson ${ADOPTION_VERSION}; nothing was changed`,
    { remedy: 'Let them finish first: caisson down && caisson up -d. Or end them: caisson down --now.' },
  );
}

/** Another version obeys the order, too; only its answer may not be understood. */
async function askToLeave(stateDir: string): Promise<void> {
  await askToStop(stateDir, { leave: true }).catch((error: unknown) => {
    if (!(error instanceof OtherDaemonError)) throw error;
  });
}
