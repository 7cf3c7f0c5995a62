/** Repairs our refs that a power cut broke or removed: the ledger knows the files of each. */
import { hash } from 'node:crypto';
import { shareTurn } from '@caisson/ground';
import { BusTopic, isEnding, TERMINAL_TYPES } from '@caisson/protocol';
import type { Engine } from '../engine.ts';
import { DigestTags } from '../store/index.ts';
import type { RefRepair } from '../workspace/index.ts';
import { isForgotten } from './run-forgotten.ts';

type Rooms = Pick<Engine, 'ledger' | 'workspaces' | 'config' | 'bus'>;

/** A power cut takes what was written in the last seconds; so many events are hours of a busy project. */
const RECENT_EVENTS = 10_000;

export interface RepairOptions {
  /** Only refs of the newest events are missed: for who cannot wait until all were looked at. */
  readonly isOnlyRecent?: boolean;
  onProgress?(done: number, total: number): void;
}

/** Never rejects: each repair, and an unreadable repository, is reported as a warning. */
export async function repairOwnRefs(
  { ledger, workspaces, config, bus }: Rooms,
  options: RepairOptions = {},
): Promise<readonly RefRepair[]> {
  const warn = (message: string): void => void bus.emit(BusTopic.WARNING, { source: 'workspace', message });
  const { projectRoot, stateDir } = config;
  try {
    const known = {
      findTarget: (ref: string) => findRecorded(ledger, ref),
      listMissed: (refs: AsyncIterable<string>) => walkMissed(ledger, refs, options),
    };
    const repairs = await workspaces.repairRefs({ projectRoot, stateDir, known });
    for (const repair of repairs) warn(describeRepair(repair));
    return repairs;
  } catch (error) {
    warn(`the refs of this project could not be checked: ${(error as Error).message.slice(0, 500)}`);
    return [];
  }
}

/** The same after a host died, at a cost that does not grow with the ledger; the rest is left to `caisson gc`. */
export function repairRecentRefs(rooms: Rooms): Promise<readonly RefRepair[]> {
  return repairOwnRefs(rooms, { isOnlyRecent: true });
}

/** One repair, in words. */
export function describeRepair({ ref, problem, restoredTo }: RefRepair): string {
  const was = problem === 'gone' ? 'gone' : `broken (${problem})`;
  return `${ref} was ${was}: ${restoredTo === null ? 'it was removed' : `it is at ${restoredTo} again`}`;
}

/** The mark of a ref that is there. */
const THERE = 1;

/**
 * The checkpoints that the ledger names and that are not among these refs, with their trees. The ledger is read after the
 * refs: what was removed on purpose before is not missed. Of a ref only some bytes are in memory.
 */
export async function* walkMissed(
  ledger: Engine['ledger'],
  refs: AsyncIterable<string>,
  options: RepairOptions = {},
): AsyncGenerator<readonly [ref: string, tree: string]> {
  const there = new DigestTags();
  for await (const ref of refs) there.add(hash('sha256', ref), THERE);
  for await (const [ref, tree] of walkCheckpoints(ledger, options))
    if (there.of(hash('sha256', ref)) === 0) yield [ref, tree];
}

/**
 * The checkpoint refs that the events of attempts name, with their trees; of those with the same name the last one counts. A
 * run that was forgotten has none.
 */
async function* walkCheckpoints(
  ledger: Engine['ledger'],
  { isOnlyRecent = false, onProgress }: RepairOptions = {},
): AsyncGenerator<readonly [ref: string, tree: string]> {
  const total = ledger.lastOffset();
  const after = isOnlyRecent ? Math.max(0, total - RECENT_EVENTS) : 0;
  const types = ['attempt.ended', ...TERMINAL_TYPES] as const;
  for (const { offset, runId, data } of ledger.walk({ after, types })) {
    await shareTurn();
    onProgress?.(offset, total);
    const { checkpoint } = data;
    if (checkpoint !== undefined && runId !== null && !isForgotten({ ledger }, runId))
      yield [checkpoint.ref, checkpoint.tree];
  }
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
