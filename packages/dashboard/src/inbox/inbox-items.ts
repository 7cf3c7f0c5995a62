/** What needs a person, in the order in which it is urgent. */
import type { Question } from '@caisson/protocol';
import type { Approval, ListedRun } from '../api/answers.ts';
import { runPath } from '../router/route.ts';
import { shortId } from '../ui/format.ts';
import type { Trouble } from './resident-trouble.ts';

export type InboxItem =
  | { readonly kind: 'approval'; readonly id: string; readonly approval: Approval }
  | { readonly kind: 'question'; readonly id: string; readonly question: Question }
  | {
      readonly kind: 'failure';
      readonly id: string;
      readonly run: ListedRun;
      /** Failures of the same task before it, as of a schedule that fails each time. */
      readonly earlier: readonly ListedRun[];
    }
  | { readonly kind: 'trouble'; readonly id: string; readonly trouble: Trouble }
  | { readonly kind: 'work'; readonly id: string; readonly run: ListedRun };

export interface InboxSources {
  readonly approvals: readonly Approval[];
  readonly questions: readonly Question[];
  readonly failures: readonly ListedRun[];
  /** Finished runs with a patch that was not applied. */
  readonly work: readonly ListedRun[];
  readonly troubles: readonly Trouble[];
}

export function idOfRun(kind: 'failure' | 'work', { runId }: ListedRun): string {
  return `${kind}:${runId}`;
}

/** Where an entry comes from. */
export interface Place {
  readonly path: string;
  readonly name: string;
}

export function placeOfRun(runId: string): Place {
  return { path: runPath(runId), name: shortId(runId) };
}

/** A thread of a workflow asks in its own name: it is no run, and has no page of its own. */
export function placeOfQuestion({ runId }: Question): Place {
  return isOfThread({ runId }) ? { path: '/residents', name: shortId(runId) } : placeOfRun(runId);
}

export function isOfThread({ runId }: Pick<Question, 'runId'>): boolean {
  return runId.startsWith('thread_');
}

/** What Enter opens. */
export function pathOf(item: InboxItem): string {
  switch (item.kind) {
    case 'approval':
      return runPath(item.approval.runId);
    case 'question':
      return placeOfQuestion(item.question).path;
    case 'failure':
      return runPath(item.run.runId);
    case 'work':
      return runPath(item.run.runId, 'diff');
    case 'trouble':
      return '/residents';
  }
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
    ...sources.troubles.map((trouble): InboxItem => ({ kind: 'trouble', id: trouble.id, trouble })),
    ...groupFailures(sources.failures.filter((run) => !hidden.has(idOfRun('failure', run)))),
    ...sources.work.map((run): InboxItem => ({ kind: 'work', id: idOfRun('work', run), run })),
  ];
  return items.filter(({ id }) => !hidden.has(id));
}

/** What hides an entry, and all that it stands for. */
export function idsOf(item: InboxItem): readonly string[] {
  if (item.kind === 'trouble') return item.trouble.ids;
  if (item.kind !== 'failure') return [item.id];
  return [item.run, ...item.earlier].map((run) => idOfRun('failure', run));
}

/** The same task that fails again and again is one entry, as of its newest run. */
function groupFailures(failures: readonly ListedRun[]): InboxItem[] {
  const keyOf = ({ description, runtime, agent, session, runId }: ListedRun): string =>
    description === '' ? runId : JSON.stringify([description, runtime, agent, session]);
  return [...Map.groupBy(failures, keyOf).values()].flatMap(([run, ...earlier]) =>
    run === undefined ? [] : [{ kind: 'failure' as const, id: idOfRun('failure', run), run, earlier }],
  );
}

/** The entries as they stand on the page. */
export interface Arranged {
  /** In the order in which they are urgent. */
  readonly urgent: readonly InboxItem[];
  readonly items: readonly InboxItem[];
  /** The ids of those that have come since and would stand higher up. */
  readonly late: ReadonlySet<string>;
}

export const NOTHING_ARRANGED: Arranged = { urgent: [], items: [], late: new Set() };

/**
 * What is listed keeps its place, and what has come stands below it: a button that is about to be pressed does not move away
 * from under the pointer, and no other comes there.
 */
export function arrange(before: Arranged, urgent: readonly InboxItem[]): Arranged {
  const byId = new Map(urgent.map((item) => [item.id, item]));
  const kept = before.items.flatMap(({ id }) => byId.get(id) ?? []);
  const known = new Set(kept.map(({ id }) => id));
  const added = urgent.filter(({ id }) => !known.has(id));
  const items = [...kept, ...added];
  if (items.every(({ id }, index) => id === urgent[index]?.id)) return arrangeAnew(urgent);
  const late = [...kept.filter(({ id }) => before.late.has(id)), ...added].map(({ id }) => id);
  return { urgent, items, late: new Set(late) };
}

export function arrangeAnew(urgent: readonly InboxItem[]): Arranged {
  return { urgent, items: urgent, late: new Set() };
}

/** Whether an entry went away above one that is still there, which has moved up. */
export function hasMovedUp(before: readonly InboxItem[], after: readonly InboxItem[]): boolean {
  const left = new Set(after.map(({ id }) => id));
  const gap = before.findIndex(({ id }) => !left.has(id));
  return gap !== -1 && before.slice(gap).some(({ id }) => left.has(id));
}

export interface Choice {
  /** Null until a person chooses, and when nothing is left. */
  readonly id: string | null;
  /** How often it changed by itself. */
  readonly moves: number;
}

export const NOTHING_CHOSEN: Choice = { id: null, moves: 0 };

/**
 * The choice after the list has changed. It stays on its entry, wherever that is now. When that is gone, an entry that was
 * there before is chosen, the one behind it first: what has just come was not read yet, and must not be decided by a key.
 */
export function followChoice(
  { id, moves }: Choice,
  before: readonly InboxItem[],
  after: readonly InboxItem[],
): Choice {
  if (id === null || after.some((item) => item.id === id)) return { id, moves };
  const place = before.findIndex((item) => item.id === id);
  const known = [...before.slice(place + 1), ...before.slice(0, Math.max(0, place)).toReversed()];
  const next = known.find((item) => after.some((other) => other.id === item.id));
  return { id: next?.id ?? null, moves: moves + 1 };
}
