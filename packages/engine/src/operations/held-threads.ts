/** Threads whose workflow gets no work: why, and when they go on. */
import type { ThreadRow } from '@caisson/protocol';
import type { Ledger } from '../ledger/index.ts';
import type { Residents } from '../residents/index.ts';

type Known = Pick<Residents, 'workflows'> | null;

/** Null for one that has no place, waits for something else, or has a workflow that works. */
export function describeHold(
  residents: Known,
  { workflow, status }: Pick<ThreadRow, 'workflow' | 'status'>,
): string | null {
  if (residents === null || status !== 'running') return null;
  const view = residents.workflows().find(({ name }) => name === workflow);
  if (view === undefined) return `the workflow "${workflow}" is not declared`;
  if (view.state === 'blocked')
    return `workflow.${workflow} is blocked, because it crashed too often: caisson residents reset workflow.${workflow}`;
  return view.state === 'unloadable' ? `workflow.${workflow} does not load: ${view.problem ?? ''}` : null;
}

export function countHeld(residents: Known, ledger: Pick<Ledger, 'threads'>): number {
  return ledger.threads({ status: ['running'] }).filter((thread) => describeHold(residents, thread) !== null)
    .length;
}

/** What a thread that has not ended waits for. */
export function describeWait(
  residents: Known,
  { threadId, workflow }: { readonly threadId: string; readonly workflow: string },
): string {
  const state = residents?.workflows().find(({ name }) => name === workflow)?.state;
  if (state === undefined) return `It goes on when the workflow "${workflow}" is declared again.`;
  if (state === 'blocked') return `It goes on after caisson residents reset workflow.${workflow}.`;
  if (state === 'unloadable')
    return (
      `It goes on when the file of the workflow can be loaded: caisson residents says why not. ` +
      `If a package was missing: caisson residents reset workflow.${workflow}.`
    );
  return `It goes on by itself; caisson threads show ${threadId} says what it waits for.`;
}
