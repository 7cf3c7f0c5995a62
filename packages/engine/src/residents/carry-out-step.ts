/** Carries out one step until its outcome is known. An aborted one has none that counts. */
import { definedOnly, type DataOf, type EndedRun, type StepRequest } from '@caisson/protocol';
import { isRefusal, type RunRecord } from '../ledger/index.ts';
import type { Alarms } from './alarms.ts';
import { CANCELLED, cancelRuns } from './cancel-runs.ts';
import type { EventWatch } from './event-watch.ts';
import { persist } from './persist.ts';
import type { StepResult } from './plan-step.ts';
import { parseRoleRun, toEndedRun } from './role-run.ts';
import type { RecordRooms } from './thread-records.ts';
import { composeRunGrant } from './workflow-grant.ts';

export interface StepRooms extends RecordRooms {
  readonly alarms: Alarms;
  readonly watch: EventWatch;
}

interface Carried {
  readonly threadId: string;
  readonly workflow: string;
  readonly record: RunRecord;
  readonly step: DataOf<'thread.step-started'>;
  /** Absent for a step of an earlier host. */
  readonly request?: StepRequest | undefined;
}

/** Null: it cannot be carried out now, and stays open. */
export async function carryOut(
  rooms: StepRooms,
  carried: Carried,
  signal: AbortSignal,
): Promise<StepResult | null> {
  const { step } = carried;
  switch (step.kind) {
    case 'sleep':
      await untilDue(rooms, step.until, signal);
      return { ok: true, value: null };
    case 'ask':
      return awaitAnswer(rooms, carried, step.questionId ?? '', signal);
    case 'wait':
      return { ok: true, value: await awaitRuns(rooms, step.runIds ?? [], signal) };
    case 'dispatch':
      return dispatchRun(rooms, carried, signal);
    case 'value':
      return null; // its role does
  }
}

async function dispatchRun(
  rooms: StepRooms,
  carried: Carried,
  signal: AbortSignal,
): Promise<StepResult | null> {
  const { threadId, workflow, step, request } = carried;
  const [runId = ''] = step.runIds ?? [];
  if (rooms.ledger.run(runId) === null) {
    const settings = rooms.findWorkflow(workflow);
    if (settings === null) return null; // it may be declared again
    if (request?.kind !== 'dispatch') return { ok: false, value: 'what it asked for is not known' };
    await rooms.dispatch({
      ...parseRoleRun(request.request),
      runId,
      session: threadId,
      idempotencyKey: `${threadId}.${step.round}.${step.ordinal}`,
      parent: { runId: threadId, grant: composeRunGrant(settings, rooms) },
    });
    // Its thread was given up before the run was accepted, and could not cancel it.
    if (signal.reason === CANCELLED) await cancelRuns(rooms, [runId]);
  }
  if (step.waits !== true) return { ok: true, value: runId };
  const [ended] = await awaitRuns(rooms, [runId], signal);
  return { ok: true, value: ended };
}

async function awaitRuns(
  rooms: StepRooms,
  runIds: readonly string[],
  signal: AbortSignal,
): Promise<EndedRun[]> {
  const { watch, ledger } = rooms;
  const isEnded = (runId: string): boolean => ledger.run(runId)?.ending !== undefined;
  await Promise.all(
    runIds.map((runId) =>
      once(
        (done) => watch.once(runId, done),
        () => isEnded(runId),
        signal,
      ),
    ),
  );
  return signal.aborted ? [] : Promise.all(runIds.map((runId) => describeEnded(rooms, runId, runIds.length)));
}

/** What cannot be read of it any more (it was forgotten, or is damaged) does not stop the thread. */
async function describeEnded(rooms: StepRooms, runId: string, runs: number): Promise<EndedRun> {
  try {
    const patchBytes = await rooms.measurePatch(runId).catch(() => undefined); // unknown, and never 0
    return toEndedRun(rooms.ledger, await rooms.describeRun(runId), patchBytes, runs);
  } catch {
    const row = rooms.ledger.run(runId);
    const failure = row?.failure === undefined ? undefined : { ...row.failure };
    return definedOnly<EndedRun>({ runId, status: row?.status ?? 'error', reply: '', failure });
  }
}

async function awaitAnswer(
  rooms: StepRooms,
  { record }: Carried,
  questionId: string,
  signal: AbortSignal,
): Promise<StepResult> {
  const { ledger, watch } = rooms;
  const find = () => ledger.question(questionId);
  const deadlineAt = find()?.deadlineAt;
  const over = new AbortController();
  const isOver = AbortSignal.any([signal, over.signal]);
  const closed = once(
    (done) => watch.once(questionId, done),
    () => find()?.status !== 'open',
    isOver,
  );
  const due = deadlineAt === undefined ? null : untilDue(rooms, deadlineAt, isOver);
  await Promise.race(due === null ? [closed] : [closed, due]);
  over.abort();
  if (!signal.aborted && find()?.status === 'open') {
    const expire = () => record.append('question.expired', { questionId }, { attempt: 0 });
    await persist(rooms, signal, expire).catch((error: unknown) => {
      if (!isRefusal(error)) throw error; // answered, or expired by another process
    });
  }
  const row = find();
  return row?.status === 'answered'
    ? { ok: true, value: row.answer }
    : { ok: false, value: 'nobody answered in time' };
}

function untilDue({ alarms, clock }: StepRooms, at: string | undefined, signal: AbortSignal): Promise<void> {
  const atMs = Date.parse(at ?? '') || 0;
  return once(
    (done) => alarms.set(atMs, done),
    () => atMs <= clock.wallMs(),
    signal,
  );
}

/** Resolves when it is so: now, after the callback, or when aborted. */
function once(
  register: (done: () => void) => () => void,
  isSo: () => boolean,
  signal: AbortSignal,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const done = (): void => resolve();
  const cancel = register(done);
  signal.addEventListener('abort', done, { once: true });
  if (signal.aborted || isSo()) done();
  return promise.finally(() => {
    cancel();
    signal.removeEventListener('abort', done);
  });
}
