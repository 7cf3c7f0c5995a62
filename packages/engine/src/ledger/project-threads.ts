// A thread follows from the events of its own stream. Time does not count for it while it sleeps or a person is asked, unless
// the role does work of its own meanwhile.

import { definedOnly, knownTypeOf, type DataOf, type ThreadRow } from '@caisson/protocol';
import type { Draft } from './draft.ts';
import type { ProjectedEvent } from './project.ts';

const THREAD_PREFIX = 'thread_';
const PAUSING: ReadonlySet<string> = new Set(['sleep', 'ask']);

const NO_STEPS = { lastStep: undefined, skippedSteps: undefined };

type OpenStep = NonNullable<ThreadRow['waitsFor']>[number];

/** Whether a stream is that of a thread; all others, but the project's, are runs. */
export function isThreadStream(streamId: string | null): streamId is string {
  return streamId?.startsWith(THREAD_PREFIX) === true;
}

export function projectThreads(draft: Draft, event: ProjectedEvent): void {
  if (!isThreadStream(event.runId)) return;
  const row = projectThread(draft.thread(event.runId), event);
  if (row !== null) draft.putThread(row);
}

/** The thread after `event`, or `null` when it changes nothing. */
export function projectThread(row: ThreadRow | null, event: ProjectedEvent): ThreadRow | null {
  const type = knownTypeOf(event);
  if (type === 'thread.accepted') return acceptedThread(event);
  if (row === null) return null;
  switch (type) {
    case 'thread.started':
      return { ...row, status: 'running', startedAt: event.at };
    case 'thread.step-started':
      return event.type === 'thread.step-started' ? withStep(row, event.data, event.at) : null;
    case 'thread.step-ended':
      return event.type === 'thread.step-ended' ? withoutStep(row, event.data.ordinal, event.at) : null;
    case 'thread.message': {
      const role = event.type === 'thread.message' ? event.data.role : undefined;
      const next = { ...row, rounds: row.rounds + 1, lastRole: role, ...NO_STEPS };
      return waitingFor(next, [], event.at);
    }
    case 'thread.ended':
      return endedThread(row, event);
    default:
      return null;
  }
}

function acceptedThread(event: ProjectedEvent): ThreadRow {
  const data: Partial<DataOf<'thread.accepted'>> = event.type === 'thread.accepted' ? event.data : {};
  return definedOnly<ThreadRow>({
    threadId: event.runId ?? '',
    workflow: data.workflow ?? '',
    status: 'queued',
    trigger: data.trigger ?? { kind: 'user' },
    acceptedAt: event.at,
    acceptedOffset: event.offset,
    rounds: 0,
    maxRounds: data.maxRounds ?? 0,
    timeoutMs: data.timeoutMs ?? 0,
    continues: data.continues,
  });
}

function withStep(
  row: ThreadRow,
  { ordinal, kind, runIds, questionId, until }: DataOf<'thread.step-started'>,
  at: string,
): ThreadRow {
  const step = definedOnly<OpenStep>({ ordinal, kind, runIds, questionId, until });
  return waitingFor({ ...row, ...startStep(row, ordinal) }, [...(row.waitsFor ?? []), step], at);
}

/** Steps that are under way together start in any order. */
function startStep({ lastStep = -1, skippedSteps = [] }: ThreadRow, ordinal: number) {
  const skipped = skippedSteps.filter((each) => each !== ordinal);
  for (let between = lastStep + 1; between < ordinal; between += 1) skipped.push(between);
  return {
    lastStep: Math.max(lastStep, ordinal),
    skippedSteps: skipped.length === 0 ? undefined : skipped,
  };
}

function withoutStep(row: ThreadRow, ordinal: number, at: string): ThreadRow {
  const left = (row.waitsFor ?? []).filter((step) => step.ordinal !== ordinal);
  return waitingFor(row, left, at);
}

function waitingFor(row: ThreadRow, open: readonly OpenStep[], at: string): ThreadRow {
  return definedOnly<ThreadRow>({
    ...row,
    status: open.length === 0 || open.some(isOwnWork) ? 'running' : 'waiting',
    waitsFor: open.length === 0 ? undefined : [...open],
    ...(isPausedBy(open) ? { pausedSince: row.pausedSince ?? at } : endPause(row, at)),
  });
}

/** Whether time does not count while these steps are open. */
export function isPausedBy(open: readonly Pick<OpenStep, 'kind'>[]): boolean {
  return open.some(({ kind }) => PAUSING.has(kind)) && !open.some(isOwnWork);
}

/** The role itself makes a value. */
function isOwnWork({ kind }: Pick<OpenStep, 'kind'>): boolean {
  return kind === 'value';
}

/** A clock may be set back: a pause is never negative. */
function endPause({ pausedMs, pausedSince }: ThreadRow, at: string) {
  if (pausedSince === undefined) return {};
  const lastedMs = Math.max(0, Date.parse(at) - Date.parse(pausedSince));
  return { pausedSince: undefined, pausedMs: (pausedMs ?? 0) + lastedMs };
}

function endedThread(row: ThreadRow, event: ProjectedEvent): ThreadRow {
  const { status, detail }: Partial<DataOf<'thread.ended'>> = event.type === 'thread.ended' ? event.data : {};
  return definedOnly<ThreadRow>({
    ...waitingFor(row, [], event.at),
    ...NO_STEPS,
    status: status ?? 'failed',
    endedAt: event.at,
    detail,
  });
}
