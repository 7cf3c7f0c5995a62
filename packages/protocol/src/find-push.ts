/** The one rule for the push of a run's branch, over the events of the run. */
import type { RunPush } from './dispatch-result.ts';
import { isEnding, type EventContent, type TerminalType, type UnknownContent } from './events.ts';

const OUTCOMES: ReadonlySet<string> = new Set(['branch.pushed', 'branch.push-failed', 'branch.dropped']);

/**
 * Where the push of a run stands; undefined if its branch was never made, was dropped, or is not to be pushed. `isAsked`: it
 * is to be pushed now, whatever the task said.
 */
export function findPush(
  events: readonly (EventContent | UnknownContent)[],
  { isAsked = false }: { readonly isAsked?: boolean } = {},
): RunPush | undefined {
  const accepted = events.find((event) => event.type === 'dispatch.accepted');
  const ending = events.findLast((event) => isEnding(event));
  const made = ending?.data.branch;
  const { remote, push } = accepted?.data.repository ?? {};
  if (remote === undefined || made?.status !== 'created') return undefined;
  const branch = made.name;
  // What is on the remote stays there, whatever another host has recorded of its own try after that.
  const outcome =
    events.findLast((event) => event.type === 'branch.pushed') ??
    events.findLast((event) => OUTCOMES.has(event.type));
  const isWanted = push === true || isAsked || outcome !== undefined;
  if (!isWanted || outcome?.type === 'branch.dropped') return undefined;
  if (outcome?.type === 'branch.pushed') return { remote, branch, status: 'pushed' };
  if (outcome?.type !== 'branch.push-failed') return { remote, branch, status: 'pending' };
  const { reason, detail } = outcome.data;
  return { remote, branch, status: 'failed', reason, detail };
}

/** After another ending the push is left to a person: the work waits for an answer, or its user stopped it. */
export function isPushedByItself(ending: TerminalType): boolean {
  return ending === 'dispatch.finished' || ending === 'dispatch.failed';
}
