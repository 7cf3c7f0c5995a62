import { CaissonError } from '@caisson/protocol';

/** The question cannot be answered (any more). */
export class QuestionClosedError extends CaissonError {
  readonly code = 'QUESTION_CLOSED';
}

/** An answer without words. A question is answered once, so it stays open. */
export class AnswerEmptyError extends CaissonError {
  readonly code = 'USAGE';

  constructor(asker: string) {
    super(`the answer to the question of ${asker} is empty; the question stays open`, {
      remedy: `Say something: caisson answer ${asker} "…"; caisson questions shows what was asked.`,
    });
  }
}
