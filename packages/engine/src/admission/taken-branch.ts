/** Whether the branch that a task asks for can be made, and where an earlier run left it. */
import { definedOnly } from '@caisson/protocol';
import type { BranchStanding } from '../workspace/index.ts';
import type { AdmittedRun } from './contract.ts';
import type { RequestRefusal } from './request-checks.ts';
import type { DispatchRooms } from './rooms.ts';

/** A branch that cannot be made is refused before there is a run. */
export async function findTakenBranch(
  { request, workspaceKind }: Pick<AdmittedRun, 'request' | 'workspaceKind'>,
  { ledger, workspaces, settings }: Pick<DispatchRooms, 'ledger' | 'workspaces' | 'settings'>,
): Promise<RequestRefusal | null> {
  const { branch: name, continues, repo } = request;
  if (name === undefined) return null;
  const { projectRoot, stateDir } = settings;
  const remote = repo === undefined ? undefined : { stateDir, url: repo };
  const place = { projectRoot, name, ...definedOnly({ remote }) };
  const standing = workspaceKind === 'empty' ? null : await workspaces.findBranch(place);
  if (standing === null)
    return {
      kind: 'usage',
      detail: `the branch ${name} was asked for, but the workspace is in no git repository`,
      remedy: 'Leave out --branch, or work in a git repository.',
    };
  const earlier = findEarlierBranch({ ledger }, continues, name);
  const isFree =
    standing.kind === 'free' ||
    (standing.kind === 'taken' &&
      standing.name === name &&
      standing.checkedOutIn === null &&
      standing.commit === earlier);
  return isFree
    ? null
    : {
        kind: 'usage',
        detail: `the branch ${name} cannot be created: ${describeTaken(standing)}`,
        remedy: 'Choose another name for --branch.',
      };
}

/** Where an earlier run of the same task left the branch. */
export function findEarlierBranch(
  rooms: Pick<DispatchRooms, 'ledger'>,
  runId: string | undefined,
  name: string,
): string | null {
  return listEarlierBranches(rooms, runId, name)[0] ?? null;
}

/** Where each of the earlier runs of the same task left the branch, the newest first. */
export function listEarlierBranches(
  { ledger }: Pick<DispatchRooms, 'ledger'>,
  runId: string | undefined,
  name: string,
): string[] {
  const seen = new Set<string>();
  const commits: string[] = [];
  for (let earlier = runId; earlier !== undefined && !seen.has(earlier);) {
    seen.add(earlier);
    const row = ledger.run(earlier);
    const ending =
      row?.ending === undefined ? undefined : ledger.read({ runId: earlier, types: [row.ending] }).at(-1);
    const branch = ending?.data.branch;
    if (branch?.name === name && branch.status === 'created') commits.push(branch.commit);
    earlier = row?.continues;
  }
  return commits;
}

/** In words, as the end of a sentence. */
export function describeTaken(standing: BranchStanding): string {
  if (standing.kind === 'free') return 'git would not create it';
  if (standing.kind === 'ambiguous') return `its name stands for ${standing.other} already`;
  const { name, checkedOutIn } = standing;
  return checkedOutIn === null
    ? `there is already a branch ${name}`
    : `${name} is checked out in ${checkedOutIn}`;
}
