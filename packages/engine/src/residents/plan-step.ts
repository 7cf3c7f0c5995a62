/** What is recorded when a role asks for a step. */
import type { DataOf, StepOutcome, StepRequest } from '@caisson/protocol';
import type { Clock } from '@caisson/ground';
import type { Ledger, RunRecord } from '../ledger/index.ts';
import { createPrefixedId, createRunId } from '../platform/index.ts';
import { describeFields } from './describe-change.ts';
import { parseRoleRun } from './role-run.ts';

/** A sleep, or the deadline of a question, is at most a hundred years away. */
const LONGEST_MS = 36_525 * 86_400_000;

/** What carrying a step out came to; its place among the others is known when it is recorded. */
export type StepResult = Pick<StepOutcome, 'ok' | 'value'>;

interface StepPlace {
  readonly threadId: string;
  readonly round: number;
  readonly ordinal: number;
  readonly digest: string;
  readonly requestBytes: number;
}

export interface PlannedStep {
  readonly data: DataOf<'thread.step-started'>;
  /** Recorded with it. */
  readonly also: Parameters<RunRecord['appendAll']>[0];
  /** It is over at once. */
  readonly outcome?: StepResult;
}

export function planStep(
  { clock, ledger }: { readonly clock: Clock; readonly ledger: Ledger },
  { threadId, ...place }: StepPlace,
  request: StepRequest,
): PlannedStep {
  const { kind } = request;
  const base = { ...place, kind, fields: describeFields(request) };
  const afterMs = (ms: number): string => new Date(clock.wallMs() + Math.min(ms, LONGEST_MS)).toISOString();
  const refused = (value: string): PlannedStep => ({ data: base, also: [], outcome: { ok: false, value } });
  switch (kind) {
    case 'value':
      return { data: base, also: [] };
    case 'sleep':
      return { data: { ...base, until: afterMs(request.ms) }, also: [] };
    case 'ask':
      return planQuestion(base, createPrefixedId('question', clock), request, afterMs);
    case 'wait': {
      const runIds = [...new Set(request.runIds)];
      const strange = findStrange(ledger, threadId, runIds);
      return strange === undefined
        ? { data: { ...base, runIds }, also: [] }
        : refused(`${strange} is not a run that this thread has started`);
    }
    case 'dispatch': {
      const problem = findProblem(request.request) ?? findStrangeWork(ledger, threadId, request.request);
      if (problem !== null) return refused(problem);
      return { data: { ...base, waits: request.waits, runIds: [createRunId(clock)] }, also: [] };
    }
  }
}

export function sizeOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? '');
}

function planQuestion(
  base: Omit<DataOf<'thread.step-started'>, 'questionId'>,
  questionId: string,
  { question, options, deadlineMs }: Extract<StepRequest, { kind: 'ask' }>,
  afterMs: (ms: number) => string,
): PlannedStep {
  const asked = {
    questionId,
    text: question,
    ...(options === undefined ? {} : { options: [...options] }),
    ...(deadlineMs === undefined ? {} : { deadlineAt: afterMs(deadlineMs) }),
  };
  return { data: { ...base, questionId }, also: [{ type: 'question.asked', data: asked }] };
}

function findStrange(ledger: Ledger, threadId: string, runIds: readonly string[]): string | undefined {
  const steps = ledger.read({ runId: threadId, types: ['thread.step-started'] });
  const own = new Set(steps.flatMap(({ data }) => (data.kind === 'dispatch' ? (data.runIds ?? []) : [])));
  return runIds.find((runId) => !own.has(runId) || ledger.run(runId) === null);
}

/** A role begins with the work of its own runs only: others may have read what it may not. */
function findStrangeWork(
  ledger: Ledger,
  threadId: string,
  { keepWork }: Readonly<Record<string, unknown>>,
): string | null {
  if (typeof keepWork !== 'string') return null;
  const strange = findStrange(ledger, threadId, [keepWork]);
  return strange === undefined ? null : `keepWork: "${strange}" is not a run that this thread has started`;
}

function findProblem(asked: Readonly<Record<string, unknown>>): string | null {
  try {
    parseRoleRun(asked);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}
