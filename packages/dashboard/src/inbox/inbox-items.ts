/** What needs a person, in the order in which it is urgent. */
import type { Question } from '@caisson/protocol';
import type { Approval, ListedRun } from '../api/answers.ts';

export type InboxItem =
  | { readonly kind: 'approval'; readonly id: string; readonly approval: Approval }
  | { readonly kind: 'question'; readonly id: string; readonly question: Question }
  | { readonly kind: 'failure'; readonly id: string; readonly run: ListedRun }
  | { readonly kind: 'work'; readonly id: string; readonly run: ListedRun };

export interface InboxSources {
  readonly approvals: readonly Approval[];
  readonly questions: readonly Question[];
  readonly failures: readonly ListedRun[];
  /** Finished runs with a patch that was not applied. */
  readonly work: readonly ListedRun[];
}

/** A call that waits has a deadline, so it comes first; the one that ends soonest at the top. */
export function buildInbox(sources: InboxSources, hidden: ReadonlySet<string>): InboxItem[] {
  const approvals = sources.approvals.filter(({ status }) => status === 'open');
  const questions = sources.questions.filter(({ status }) => status === 'open');
  const items: InboxItem[] = [
    ...approvals
      .toSorted((a, b) => a.deadlineAt.localeCompare(b.deadlineAt))
      .map((approval): InboxItem => ({ kind: 'approval', id: approval.approvalId, approval })),
    ...questions.map((question): InboxItem => ({ kind: 'question', id: question.questionId, question })),
    ...sources.failures.map((run): InboxItem => ({ kind: 'failure', id: `failure:${run.runId}`, run })),
    ...sources.work.map((run): InboxItem => ({ kind: 'work', id: `work:${run.runId}`, run })),
  ];
  return items.filter(({ id }) => !hidden.has(id));
}

/** The entry to choose when the chosen one is gone: the one that took its place. */
export function chooseAfter(
  items: readonly InboxItem[],
  chosen: string | null,
  place: number,
): string | null {
  if (items.some(({ id }) => id === chosen)) return chosen;
  return items[Math.min(place, items.length - 1)]?.id ?? null;
}
