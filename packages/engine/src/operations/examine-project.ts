/** The doctor's checks of a project: ledger, runs, store, refs and attempt folders. Changes nothing. */
import type { ResolvedConfig } from '../config/index.ts';
import type { ProbeReport } from '../discovery/index.ts';
import type { Ledger } from '../ledger/index.ts';
import { openStateFolder } from '../trust/index.ts';
import { createWorkspaces } from '../workspace/index.ts';
import { asFinding, examineLedger, type LedgerStep } from './examine-ledger.ts';
import { examineRuns } from './examine-runs.ts';
import { examineStore, type StoreOptions } from './examine-store.ts';
import { examineWorkspaces } from './examine-workspaces.ts';
import { findLoss } from './ledger-loss.ts';

export type ExamineStep = LedgerStep | 'store';

export interface ExamineOptions extends Omit<StoreOptions, 'onProgress'> {
  /** How many events of the ledger were checked themselves, or for the blobs that they need, and how many seals. */
  onProgress?(what: ExamineStep, done: number, total: number): void;
  /** Accept the ledger as it is from now on, whatever was noted of it before. */
  readonly accept?: boolean | undefined;
}

/** Never throws for damage: that is its finding. */
export async function examineProject(
  config: ResolvedConfig,
  { accept, onProgress, ...options }: ExamineOptions = {},
): Promise<readonly ProbeReport[]> {
  const { stateDir, folders } = config;
  const lookAtWorkspaces = async (ledger: Ledger): Promise<readonly ProbeReport[]> => {
    const { stamp } = openStateFolder(config);
    const workspaces = createWorkspaces({ home: folders.home, stamp });
    const hasLostRuns = findLoss({ config, ledger }) !== null;
    return examineWorkspaces(await workspaces.inspect(config), ledger, hasLostRuns);
  };
  return await examineLedger(config, {
    accept,
    onProgress: (what, done, total) => onProgress?.(what, done, total),
    also: async (ledger) => [
      ...(await probe('runs', async () => [await examineRuns(stateDir, ledger)])),
      ...(await probe('store', async () => [
        await examineStore(stateDir, ledger, {
          ...options,
          hasBucket: config.store.s3 !== undefined,
          onProgress: (done, total) => onProgress?.('store', done, total),
        }),
      ])),
      ...(await probe('worktrees', () => lookAtWorkspaces(ledger))),
    ],
  });
}

async function probe(
  id: string,
  look: () => Promise<readonly ProbeReport[]>,
): Promise<readonly ProbeReport[]> {
  try {
    return await look();
  } catch (error) {
    return [asFinding(id, error)];
  }
}
