import { definedOnly, type DataOf, type DispatchRequest } from '@caisson/protocol';
import { isRefusal, isThreadStream, type QuestionRow } from '../ledger/index.ts';
import { createRunId } from '../platform/index.ts';
import type { QuestionRooms, Questions } from './contract.ts';
import { AnswerEmptyError, QuestionClosedError } from './errors.ts';

export function createQuestions<Handle>(rooms: QuestionRooms<Handle>): Questions<Handle> {
  const { ledger } = rooms;
  return {
    async list(filter) {
      await expireQuestions(rooms);
      return ledger.questions(filter).map(nameThread);
    },
    async answer(given, answer) {
      await expireQuestions(rooms);
      const found = findQuestion(rooms, given);
      if (answer.trim() === '') throw new AnswerEmptyError(found.runId);
      if (isThreadStream(found.runId)) return answerThread(rooms, requireOpen(found), answer);
      await rooms.beginRun();
      rooms.requireContents(found.runId);
      await recordEarlierAnswer(rooms, found);
      return answerOnce(rooms, requireOpen(ledger.question(found.questionId) ?? found), answer);
    },
  };
}

function nameThread(question: QuestionRow): QuestionRow {
  const { runId } = question;
  return isThreadStream(runId) ? { ...question, threadId: runId } : question;
}

/** Q1 */
async function answerOnce<Handle>(
  rooms: QuestionRooms<Handle>,
  question: QuestionRow,
  answer: string,
): Promise<Handle> {
  const { ledger, clock } = rooms;
  const { questionId } = question;
  const runId = createRunId(clock);
  const claim = await claimQuestion(rooms, question, runId);
  try {
    requireOpen(ledger.question(questionId) ?? question); // another process may have claimed it first
    const handle = await rooms.continueRun(question.runId, { runId, answer: describe(question, answer) });
    await record(rooms, question, 'question.answered', { questionId, answer, continuedBy: runId });
    return handle;
  } finally {
    await ledger.whenFree(() => ledger.leases.free(claim, runId));
  }
}

/** Q4. The ledger accepts one answer. */
async function answerThread(rooms: QuestionRooms, question: QuestionRow, answer: string): Promise<null> {
  const { questionId } = question;
  try {
    await record(rooms, question, 'question.answered', { questionId, answer });
  } catch (error) {
    if (isRefusal(error)) requireOpen(rooms.ledger.question(questionId) ?? question);
    throw error;
  }
  return null;
}

function describe(question: QuestionRow, answer: string): NonNullable<DispatchRequest['answer']> {
  const { questionId, text, options, context, partialState: partial_state } = question;
  return {
    question: text,
    ...definedOnly({ options: options?.map(String), context, partial_state }),
    answer,
    questionId,
  };
}

function requireOpen(question: QuestionRow): QuestionRow {
  if (question.status === 'open') return question;
  const how =
    question.status === 'answered'
      ? `was answered already${question.continuedBy === undefined ? '' : ` (${question.continuedBy})`}`
      : 'has expired';
  throw new QuestionClosedError(`the question of ${question.runId} ${how}`, {
    // The run that continued knows the answer; the one that asked would only ask again.
    remedy: isThreadStream(question.runId)
      ? `What became of it: caisson threads show ${question.runId}`
      : `To continue anyway: caisson retry ${question.continuedBy ?? question.runId}`,
  });
}

/** Q1. The claim of a host that died while it answered is replaced. */
async function claimQuestion(rooms: QuestionRooms, question: QuestionRow, runId: string): Promise<string> {
  const { hostId } = rooms;
  const { leases, whenFree } = rooms.ledger;
  const claim = `answer:${question.questionId}`;
  const tryHold = (): boolean => leases.tryHold(claim, runId, hostId);
  if (await whenFree(tryHold)) return claim;
  const holder = leases.holderOf(claim);
  const isDead = holder !== null && !(await rooms.isHostAlive(holder.hostId));
  const replace = (): boolean => {
    if (isDead) leases.free(claim, holder.holder);
    return tryHold();
  };
  if (await whenFree(replace)) return claim;
  throw new QuestionClosedError(`the question of ${question.runId} is being answered right now`);
}

/** Q2 */
async function recordEarlierAnswer(rooms: QuestionRooms, question: QuestionRow): Promise<void> {
  if (question.status !== 'open') return;
  for (const row of rooms.ledger.runs({ continues: question.runId })) {
    if (rooms.isForgotten(row.runId)) continue;
    const { answer, questionId } = (await rooms.readRequest(row.runId)).answer ?? {};
    if (answer === undefined || questionId !== question.questionId) continue;
    return record(rooms, question, 'question.answered', { questionId, answer, continuedBy: row.runId });
  }
}

/** Q3 */
async function expireQuestions(rooms: QuestionRooms): Promise<void> {
  const now = rooms.clock.now().toISOString();
  for (const question of rooms.ledger.questions({ status: 'open' })) {
    const isLost = rooms.isForgotten(question.runId);
    if (!isLost && (question.deadlineAt === undefined || question.deadlineAt > now)) continue;
    // A request that cannot be read has no known answer, and must not stop the listing of questions.
    await recordEarlierAnswer(rooms, question).catch(() => undefined);
    if (rooms.ledger.question(question.questionId)?.status !== 'open') continue;
    await record(rooms, question, 'question.expired', { questionId: question.questionId });
  }
}

function findQuestion({ ledger, resolveRun }: QuestionRooms, given: string): QuestionRow {
  const exact = ledger.question(given);
  if (exact !== null) return exact;
  const runId = isThreadStream(given) ? given : resolveRun(given);
  const found = ledger.questions({ runId }).at(-1);
  if (found !== undefined) return found;
  throw new QuestionClosedError(`${runId} has asked nothing`, {
    remedy: 'caisson questions lists the open ones.',
  });
}

async function record<T extends 'question.answered' | 'question.expired'>(
  { ledger, recorder }: QuestionRooms,
  { runId, attempt, questionId }: QuestionRow,
  type: T,
  data: DataOf<T>,
): Promise<void> {
  const trace = ledger.read({ runId, limit: 1 })[0]?.trace ?? '';
  await recorder.of(runId, trace).append(type, data, { attempt, id: `${type}:${questionId}` });
}
