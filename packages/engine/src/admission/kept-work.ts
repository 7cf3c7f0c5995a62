/**
 * The work that a run with `keepWork` begins with: that of the run it names or, if that one never came to work, of the
 * run which that one continues. A retry names the run that the repeated one named, and begins as that one did; but a
 * conversation that it resumes remembers the work of the repeated run. It is the patch, or else the checkpoint, of its ending.
 */
import { pathRules } from '@caisson/policy';
import { definedOnly, type DataOf } from '@caisson/protocol';
import { throwUnlessProblem } from '../store/index.ts';
import {
  describeMergeProblem,
  PreparedWorkspace,
  type EarlierWork,
  type FinishedWork,
} from '../workspace/index.ts';
import type { Candidate, WorkspaceKind } from './contract.ts';
import { findWorkAttempt, mayLackPatch } from './recorded-work.ts';
import type { RequestRefusal } from './request-checks.ts';
import type { DispatchRooms } from './rooms.ts';

/** `result` is null where neither patch nor checkpoint are left. */
export interface KeptWork {
  readonly runId: string;
  readonly kind: WorkspaceKind;
  readonly workspace: PreparedWorkspace;
  readonly result: FinishedWork['result'] | null;
  readonly isApplied: boolean;
}

type Rooms = Pick<DispatchRooms, 'ledger' | 'store' | 'workspaces'>;

/** The run whose conversation is to be resumed. No program reads the session of another one. */
export function findResumedRun(
  { ledger }: Pick<DispatchRooms, 'ledger'>,
  { request: { continues, resume }, runtime }: Pick<Candidate, 'request' | 'runtime'>,
): string | undefined {
  if (continues === undefined || resume === undefined) return undefined;
  return ledger.run(continues)?.runtime === runtime.name ? continues : undefined;
}

/** Null where nothing was done: no agent of the chain was started. */
export async function findKeptWork(rooms: Rooms, newest: string | undefined): Promise<KeptWork | null> {
  const { ledger } = rooms;
  const seen = new Set<string>();
  for (let runId = newest; runId !== undefined && !seen.has(runId);) {
    seen.add(runId);
    const launches = readLaunches(rooms, runId);
    if (launches.length > 0) return await readWork(rooms, runId, launches);
    runId = ledger.run(runId)?.continues;
  }
  return null;
}

/**
 * How a workspace gets it. `present`: the user's files have it, or there is nothing; `again`: an empty workspace begins
 * with the same patch; `merge`: into the present files; `gone` and `apart`: it cannot.
 */
export type WorkStart =
  | { readonly kind: 'present' | 'gone' | 'apart' }
  | { readonly kind: 'again'; readonly work: EarlierWork }
  | { readonly kind: 'merge'; readonly work: FinishedWork };

export function planStart(work: KeptWork | null, kind: WorkspaceKind): WorkStart {
  if (work === null || (work.kind === 'in-place' && kind !== 'empty')) return { kind: 'present' };
  const { result, workspace, isApplied } = work;
  const { runId, baselineTree, baseCommit, baselineCommit } = workspace;
  if ((work.kind === 'empty') !== (kind === 'empty')) return { kind: 'apart' };
  if (result === null) return { kind: 'gone' };
  if (kind !== 'empty') return { kind: 'merge', work: { runId, baselineTree, result, isApplied } };
  if (!('patch' in result)) return { kind: 'gone' };
  return { kind: 'again', work: { runId, baselineTree, baseCommit, baselineCommit, patch: result.patch } };
}

/** Refused before there is a run: nothing is left behind. */
export async function findUnkeepableWork(
  candidate: Pick<Candidate, 'request' | 'runtime' | 'workspaceKind'>,
  rooms: Rooms & Pick<DispatchRooms, 'settings'>,
): Promise<RequestRefusal | null> {
  const { request, workspaceKind: kind } = candidate;
  const { keepWork, base } = request;
  if (keepWork === undefined) return null;
  if (keepWork === '' || rooms.ledger.run(keepWork) === null)
    return {
      kind: 'usage',
      detail: `there is no run "${keepWork}" whose work could be kept`,
      remedy: 'caisson list shows the runs.',
    };
  const work = await findKeptWork(rooms, findResumedRun(rooms, candidate) ?? keepWork);
  const start = planStart(work, kind);
  const runId = work?.runId ?? '';
  if (start.kind === 'gone') return { kind: 'unavailable', ...describeMergeProblem({ kind: 'gone' }, runId) };
  if (start.kind === 'apart')
    return {
      kind: 'usage',
      detail: `${runId} worked in a workspace of kind ${work?.kind ?? ''}, which cannot be continued in one of kind ${kind}`,
      remedy: 'Leave out --workspace.',
    };
  if (start.kind !== 'merge' || request.repo !== undefined) return null; // the present files of a remote are not here yet
  const { projectRoot, stateDir, captureLimits, privatePaths, rules } = rooms.settings;
  const problem = await rooms.workspaces.findMergeProblem({
    ...{ kind, projectRoot, stateDir, keepOut: privatePaths(), limits: captureLimits, merge: start.work },
    rules: pathRules(rules),
    ...definedOnly({ baseRef: base }),
  });
  return problem === null ? null : { kind: 'unavailable', ...describeMergeProblem(problem, runId) };
}

type Launches = ReturnType<typeof readLaunches>;
const readLaunches = ({ ledger }: Rooms, runId: string) =>
  ledger.read({ runId, types: ['attempt.launched'] });

async function readWork(rooms: Rooms, runId: string, launches: Launches): Promise<KeptWork | null> {
  const { ledger } = rooms;
  const type = ledger.run(runId)?.ending;
  const ending = type === undefined ? undefined : ledger.read({ runId, types: [type] }).at(-1);
  if (ending === undefined) return null;
  const attempt = findWorkAttempt(ledger.read({ runId, types: ['attempt.ended'] }), ending);
  const launched = launches.findLast((event) => event.attempt === attempt) ?? launches.at(-1);
  const workspace = PreparedWorkspace.safeParse(launched?.data.workspace).data;
  if (workspace === undefined) return null;
  const isApplied = ledger.read({ runId, types: ['run.applied'] }).length > 0;
  const result = await findResult(rooms, ending.data, workspace);
  return { runId, kind: workspace.kind, workspace, isApplied, result };
}

/** The patch has files that no checkpoint has; the checkpoint is there where no patch could be taken, or was lost. */
async function findResult(
  { store, workspaces }: Rooms,
  work: Pick<DataOf<'dispatch.finished'>, 'patchRef' | 'patchMissing' | 'resultRef' | 'checkpoint'>,
  workspace: PreparedWorkspace,
): Promise<FinishedWork['result'] | null> {
  const { patchRef, checkpoint } = work;
  if (patchRef === undefined && !mayLackPatch(work)) return { patch: Buffer.alloc(0) };
  if (patchRef !== undefined)
    try {
      return { patch: await store.getBlob(patchRef) };
    } catch (error) {
      throwUnlessProblem(error);
    }
  const saved = checkpoint ?? (await workspaces.findCheckpoint(workspace));
  return saved === null ? null : { tree: saved.tree };
}
