import type { DispatchResult } from '@caisson/protocol';
import { describeRun } from '../dispatch/index.ts';
import type { Engine } from '../engine.ts';
import type { QuestionRow } from '../ledger/index.ts';
import { isForgotten } from './run-forgotten.ts';
import { findUnpatched } from './unpatched-work.ts';

/** The run as its ledger tells it, what it was asked and answered, and where its callbacks stand. */
export async function showRun(engine: Engine, runId: string): Promise<DispatchResult> {
  const withContents = !isForgotten(engine, runId);
  const result = await describeRun(engine.rooms, runId, { withContents });
  const unpatched = withContents ? await findUnpatched(engine, runId) : null;
  const callbacks = engine.callbacks.standings(runId);
  return {
    ...result,
    ...describeQuestions(engine, runId),
    ...(unpatched === null ? {} : { unpatched }),
    ...(callbacks.length === 0 ? {} : { callbacks: [...callbacks] }),
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
            ...(own.continuedBy === undefined ? {} : { continuedBy: own.continuedBy }),
          },
        }),
  };
}

function answerOf({ answer }: QuestionRow): { answer?: string } {
  return typeof answer === 'string' ? { answer } : {};
}
