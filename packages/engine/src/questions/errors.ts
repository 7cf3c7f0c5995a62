import { CaissonError } from '@caisson/protocol';

/** The question cannot be answered (any more). */
export class QuestionClosedError extends CaissonError {
  readonly code = 'QUESTION_CLOSED';
}
