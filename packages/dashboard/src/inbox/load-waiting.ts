import type { Question } from '@caisson/protocol';
import type { Approval } from '../api/answers.ts';
import type { Client } from '../api/client.ts';

export interface Waiting {
  readonly approvals: readonly Approval[];
  readonly questions: readonly Question[];
  /** More wait than are here. */
  readonly isCut: boolean;
}

/** The calls and questions that wait for a person. */
export async function loadWaiting(client: Client, signal: AbortSignal): Promise<Waiting> {
  const [approvals, questions] = await Promise.all([
    client.list<Approval>('/v1/approvals', {}, signal),
    client.list<Question>('/v1/questions', { status: 'open' }, signal),
  ]);
  return {
    approvals: approvals.rows.filter(({ status }) => status === 'open'),
    questions: questions.rows,
    isCut: approvals.isMore || questions.isMore,
  };
}
