/** The branch of a run: whether it was created, and whether it is on its remote. */
import type { DispatchResult } from '@caisson/protocol';

/** Whether a run came to its end and left every file as it was. */
export function hasChangedNothing({ status, result, unpatched, beside = [] }: DispatchResult): boolean {
  const isKept = unpatched !== undefined || beside.length > 0;
  return status === 'done' && result !== null && result.patchRef === undefined && !isKept;
}

/** The outcome of the requested branch; a run that changed nothing made none. */
export function describeBranch(result: DispatchResult): string[] {
  const { branch, handoff } = result;
  if (branch !== undefined) return [describeMade(branch, hasChangedNothing(result))];
  if (handoff?.branch === undefined || !handoff.verdict.isEmpty) return [];
  return [`branch: ${handoff.branch} was not made: nothing was changed`];
}

function describeMade(
  { name, status, detail }: NonNullable<DispatchResult['branch']>,
  isEmpty: boolean,
): string {
  switch (status) {
    case 'created':
      return isEmpty ? `branch: ${name} (nothing was changed by this run)` : `branch: ${name}`;
    case 'held':
      return detail === undefined
        ? `branch: ${name} waits for a yes to its risky files; the warning above has the line that creates it`
        : `branch: ${name} was not created: ${detail}`;
    case 'taken':
    case 'failed':
      return `branch: ${name} was not created: ${detail ?? status}`;
  }
}

/** Whether the branch is on its remote, and what to do if not. */
export function describePush({ runId, push }: Pick<DispatchResult, 'runId' | 'push'>): string[] {
  if (push === undefined) return [];
  const { status, remote, reason, detail } = push;
  if (status === 'pushed') return [`pushed: ${remote}`];
  const why = status === 'pending' ? 'not tried yet' : `${reason ?? ''}: ${detail ?? ''}`;
  return [
    `not pushed to ${remote}: ${why}`,
    `the branch is kept here; push it: caisson branches ${runId} --push`,
  ];
}
