/** Workers of a daemon that does not answer, or is gone, as the ledger and the machine know them. */
import { attemptPaths } from '../attempt/index.ts';
import { canAdopt, WorkerHandle } from '../compute/index.ts';
import type { Ledger, RunRow } from '../ledger/index.ts';

export interface DaemonWorkers {
  readonly running: number;
  /** Runs without a worker: nobody adopts them. */
  readonly queued: number;
  /** The versions of adoption that they speak. */
  readonly adoptionVersions: readonly number[];
}

export function findWorkersOf(ledger: Ledger, hostId: string): DaemonWorkers {
  const open = ledger.runs({ status: ['queued', 'running'] }).filter(({ host }) => host === hostId);
  const running = open.filter(({ status }) => status === 'running');
  const versions = running.flatMap((row) => findLaunch(ledger, row)?.data.adoption?.version ?? []);
  return {
    running: running.length,
    queued: open.length - running.length,
    adoptionVersions: [...new Set(versions)],
  };
}

/** Runs of dead hosts whose workers live and listen for the next one. */
export async function findWaitingRuns(
  ledger: Ledger,
  stateDir: string,
  isHostAlive: (hostId: string) => Promise<boolean>,
): Promise<string[]> {
  const waiting: string[] = [];
  for (const row of ledger.runs({ status: ['running'] })) {
    const launched = findLaunch(ledger, row);
    if (launched?.data.adoption === undefined || (await isHostAlive(row.host))) continue;
    const { control } = attemptPaths(stateDir, row.runId, launched.attempt);
    if (await canAdopt(WorkerHandle.parse(launched.data.handle), control)) waiting.push(row.runId);
  }
  return waiting;
}

function findLaunch(ledger: Ledger, { runId }: RunRow) {
  return ledger.read({ runId, types: ['attempt.launched'] }).at(-1);
}
