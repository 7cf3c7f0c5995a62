import { definedOnly, type DataOf } from '@caisson/protocol';
import type { QuestionRow } from './contract.ts';
import type { Draft } from './draft.ts';
import type { ProjectedEvent } from './project.ts';

export function projectQuestion(draft: Draft, event: ProjectedEvent): void {
  if (event.type === 'question.asked') return draft.putQuestion(askedQuestion(event, event.data));
  if (event.type !== 'question.expired' && event.type !== 'question.answered') return;
  const row = draft.question(event.data.questionId);
  if (row === null) return;
  const closed =
    event.type === 'question.expired'
      ? { status: 'expired' as const }
      : { status: 'answered' as const, answer: event.data.answer, continuedBy: event.data.continuedBy };
  draft.putQuestion(definedOnly<QuestionRow>({ ...row, ...closed, closedAt: event.at }));
}

function askedQuestion(
  event: Pick<ProjectedEvent, 'runId' | 'attempt' | 'at' | 'offset'>,
  { questionId, text, options, context, partialState, deadlineAt }: DataOf<'question.asked'>,
): QuestionRow {
  return definedOnly({
    questionId,
    runId: event.runId ?? '',
    attempt: event.attempt,
    status: 'open',
    text,
    options,
    context,
    partialState,
    askedAt: event.at,
    askedOffset: event.offset,
    deadlineAt,
  });
}
