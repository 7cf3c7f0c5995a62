import { BusTopic, definedOnly, ResultUnreadableError, type DispatchResult } from '@caisson/protocol';
import { describeRun } from '../dispatch/index.ts';
import type { Engine } from '../engine.ts';
import type { QuestionRow, StoredEvent } from '../ledger/index.ts';
import { toProblem } from '../store/index.ts';
import { isForgotten } from './run-forgotten.ts';
import { findLive, findWaiting } from './live-runs.ts';
import { findUnpatched } from './unpatched-work.ts';

/** The run as its ledger records it, its questions and answers, and the state of its callbacks. */
export async function showRun(engine: Engine, runId: string): Promise<DispatchResult> {
  const result = await describeReadable(engine, runId);
  const events = await engine.ledger.readRun(runId);
  const unpatched = isForgotten(engine, runId) ? null : await findUnpatched(engine, runId);
  const callbacks = engine.callbacks.standings(runId);
  return {
    ...result,
    ...describeTask(events),
    ...describeQuestions(engine, runId),
    ...describeTaken(events),
    ...(await describeUnderWay(engine, runId)),
    ...(unpatched === null ? {} : { unpatched }),
    ...(callbacks.length === 0 ? {} : { callbacks: [...callbacks] }),
  };
}

/** The ledger's part is shown even if the contents cannot be provided or read. */
async function describeReadable(engine: Engine, runId: string): Promise<DispatchResult> {
  const withContents = !isForgotten(engine, runId);
  try {
    return await describeRun(engine.rooms, runId, { withContents });
  } catch (error) {
    const detail = error instanceof ResultUnreadableError ? error.message : toProblem(runId, error).detail;
    engine.bus.emit(BusTopic.WARNING, { source: 'store', message: `contents are left out: ${detail}` });
    return await describeRun(engine.rooms, runId, { withContents: false });
  }
}

function describeTask(events: readonly StoredEvent[]): Pick<DispatchResult, 'task'> {
  const accepted = events.find((event) => event.type === 'dispatch.accepted');
  if (accepted === undefined) return {};
  const { priority, scope = [], branch, acceptance } = accepted.data.task;
  return { task: { priority, scope: [...scope], ...definedOnly({ branch, acceptance }) } };
}

async function describeUnderWay(
  engine: Engine,
  runId: string,
): Promise<Pick<DispatchResult, 'live' | 'waitsFor'>> {
  const row = engine.ledger.run(runId);
  if (row === null) return {};
  const live = (await findLive(engine, [row])).get(runId);
  return definedOnly({ live, waitsFor: findWaiting(engine, row) ?? undefined });
}

function describeTaken(events: readonly StoredEvent[]): Pick<DispatchResult, 'applied' | 'forgottenAt'> {
  const applied = events.findLast((event) => event.type === 'run.applied');
  const forgotten = events.find((event) => event.type === 'run.forgotten');
  return {
    ...(applied === undefined ? {} : { applied: { at: applied.at, ...applied.data } }),
    ...(forgotten === undefined ? {} : { forgottenAt: forgotten.at }),
  };
}

function describeQuestions({ ledger }: Engine, runId: string): Pick<DispatchResult, 'continues' | 'asked'> {
  const earlier = ledger.run(runId)?.continues;
  const answered =
    earlier === undefined
      ? undefined
      : ledger.questions({ runId: earlier }).find((question) => question.continuedBy === runId);
  const own = ledger.questions({ runId }).at(-1);
  return {
    ...(earlier === undefined
      ? {}
      : {
          continues: {
            runId: earlier,
            ...(answered === undefined ? {} : { question: answered.text, ...answerOf(answered) }),
          },
        }),
    ...(own === undefined
      ? {}
      : {
          asked: {
            question: own.text,
            status: own.status,
            ...answerOf(own),
            ...definedOnly({ continuedBy: own.continuedBy }),
          },
        }),
  };
}

function answerOf({ answer }: QuestionRow): { answer?: string } {
  return typeof answer === 'string' ? { answer } : {};
}
