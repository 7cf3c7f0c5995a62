/** Repairs our refs that a power cut broke or removed: the ledger knows the files of each. */
import { BusTopic, isEnding, TERMINAL_TYPES } from '@caisson/protocol';
import type { Engine } from '../engine.ts';
import type { RefRepair } from '../workspace/index.ts';
import { isForgotten } from './run-forgotten.ts';

type Rooms = Pick<Engine, 'ledger' | 'workspaces' | 'config' | 'bus'>;

/** Never rejects: each repair, and an unreadable repository, is reported as a warning. */
export async function repairOwnRefs({
  ledger,
  workspaces,
  config,
  bus,
}: Rooms): Promise<readonly RefRepair[]> {
  const warn = (message: string): void => void bus.emit(BusTopic.WARNING, { source: 'workspace', message });
  const { projectRoot, stateDir } = config;
  try {
    const known = {
      findTarget: (ref: string) => findRecorded(ledger, ref),
      listExpected: () => listRecordedCheckpoints(ledger),
    };
    const repairs = await workspaces.repairRefs({ projectRoot, stateDir, known });
    for (const repair of repairs) warn(describeRepair(repair));
    return repairs;
  } catch (error) {
    warn(`the refs of this project could not be checked: ${(error as Error).message.slice(0, 500)}`);
    return [];
  }
}

/** One repair, in words. */
export function describeRepair({ ref, problem, restoredTo }: RefRepair): string {
  const was = problem === 'gone' ? 'gone' : `broken (${problem})`;
  return `${ref} was ${was}: ${restoredTo === null ? 'it was removed' : `it is at ${restoredTo} again`}`;
}

/** The checkpoint refs that the events of attempts name, with their trees. A run that was forgotten has none. */
export function listRecordedCheckpoints(ledger: Engine['ledger']): ReadonlyMap<string, string> {
  const recorded = new Map<string, string>();
  for (const { runId, data } of ledger.read({ types: ['attempt.ended', ...TERMINAL_TYPES] })) {
    const { checkpoint } = data;
    if (checkpoint !== undefined && runId !== null && !isForgotten({ ledger }, runId))
      recorded.set(checkpoint.ref, checkpoint.tree);
  }
  return recorded;
}

/** The tree or commit that an event of the run names for a ref; those of an agent's own branches are in no event. */
function findRecorded(ledger: Engine['ledger'], ref: string): string | null {
  const runId = /^refs\/caisson\/(run_[0-9a-z]+)\//.exec(ref)?.[1];
  if (runId === undefined || isForgotten({ ledger }, runId)) return null;
  for (const event of ledger.read({ runId }).toReversed()) {
    if (event.type === 'attempt.launched' && ref.endsWith(`/base/${event.attempt}`))
      return event.data.workspace.baselineTree ?? null;
    if (event.type === 'attempt.launched' && ref.endsWith(`/base-commit/${event.attempt}`))
      return event.data.workspace.baseCommit ?? null;
    if (event.type !== 'attempt.ended' && !isEnding(event)) continue;
    const { checkpoint } = event.data;
    if (checkpoint?.ref === ref) return checkpoint.tree;
    if (checkpoint?.branch !== undefined && ref.endsWith(`/branch/${event.attempt}`))
      return checkpoint.branch.commit;
  }
  return null;
}
