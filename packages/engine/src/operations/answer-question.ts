/** A question is answered once; the answer goes, with everything the agent left, to the run that continues. */
import { CaissonError, type DataOf } from '@caisson/protocol';
import { describeRun } from '../dispatch/index.ts';
import { type RunHandle } from '../admission/index.ts';
import type { Engine } from '../engine.ts';
import type { QuestionRow } from '../ledger/index.ts';
import { createRunId } from '../platform/index.ts';
import { isForgotten, requireRemembered } from './run-forgotten.ts';
import { resolveRunId } from './resolve-run-id.ts';
import { readRequest } from './run-request.ts';

/** The question cannot be answered (any more). */
export class QuestionClosedError extends CaissonError {
  readonly code = 'QUESTION_CLOSED';
}

/** Finds an open question by its own id or by its run, and dispatches the run that continues. */
export async function answerQuestion(engine: Engine, given: string, answer: string): Promise<RunHandle> {
  await expireQuestions(engine);
  const found = findQuestion(engine, given);
  requireRemembered(engine, found.runId);
  await noteEarlierAnswer(engine, found);
  const question = engine.ledger.question(found.questionId) ?? found;
  if (question.status !== 'open') throw describeClosed(question);
  const runId = createRunId(engine.clock);
  const claim = await claimQuestion(engine, question, runId);
  try {
    const now = engine.ledger.question(question.questionId) ?? question;
    if (now.status !== 'open') throw describeClosed(now); // another process claimed it first
    const request = await readRequest(engine, question.runId);
    const { result } = await describeRun(engine.rooms, question.runId);
    const handle = await engine.dispatcher.dispatch({
      ...request,
      runId,
      continues: question.runId,
      ...(result?.resume === undefined ? {} : { resume: result.resume }),
      answer: {
        question: question.text,
        ...(question.options === undefined ? {} : { options: question.options.map(String) }),
        ...(question.context === undefined ? {} : { context: question.context }),
        ...(question.partialState === undefined ? {} : { partial_state: question.partialState }),
        answer,
        questionId: question.questionId,
      },
    });
    await record(engine, question, 'question.answered', {
      questionId: question.questionId,
      answer,
      continuedBy: runId,
    });
    return handle;
  } finally {
    engine.ledger.leases.free(claim, runId);
  }
}

function describeClosed(question: QuestionRow): QuestionClosedError {
  const how =
    question.status === 'answered'
      ? `was answered already${question.continuedBy === undefined ? '' : ` (${question.continuedBy})`}`
      : 'has expired';
  return new QuestionClosedError(`the question of ${question.runId} ${how}`, {
    // The run that continued knows the answer; the one that asked would only ask again.
    remedy: `To continue anyway: caisson retry ${question.continuedBy ?? question.runId}`,
  });
}

/** One answer at a time. The claim of a host that died while it answered is replaced. */
async function claimQuestion(engine: Engine, question: QuestionRow, runId: string): Promise<string> {
  const { leases } = engine.ledger;
  const claim = `answer:${question.questionId}`;
  if (leases.tryHold(claim, runId, engine.hostId)) return claim;
  const holder = leases.holderOf(claim);
  if (holder !== null && !(await engine.hosts.isAlive(holder.hostId))) leases.free(claim, holder.holder);
  if (leases.tryHold(claim, runId, engine.hostId)) return claim;
  throw new QuestionClosedError(`the question of ${question.runId} is being answered right now`);
}

/** A host may die between accepting the next run and recording it: the answer counts all the same. */
async function noteEarlierAnswer(engine: Engine, question: QuestionRow): Promise<void> {
  if (question.status !== 'open') return;
  for (const row of engine.ledger.runs()) {
    if (row.continues !== question.runId || isForgotten(engine, row.runId)) continue;
    const { answer, questionId } = (await readRequest(engine, row.runId)).answer ?? {};
    if (answer === undefined || questionId !== question.questionId) continue;
    await record(engine, question, 'question.answered', {
      questionId: question.questionId,
      answer,
      continuedBy: row.runId,
    });
    return;
  }
}

/** The next reader closes questions whose deadline has passed, or whose run was forgotten. */
export async function expireQuestions(engine: Engine): Promise<void> {
  const now = engine.clock.now().toISOString();
  for (const question of engine.ledger.questions({ status: 'open' })) {
    const isLost = isForgotten(engine, question.runId);
    if (!isLost && (question.deadlineAt === undefined || question.deadlineAt > now)) continue;
    // A request that cannot be read tells of no answer, and must not stop the listing of questions.
    await noteEarlierAnswer(engine, question).catch(() => undefined);
    if (engine.ledger.question(question.questionId)?.status !== 'open') continue;
    await record(engine, question, 'question.expired', { questionId: question.questionId });
  }
}

function findQuestion(engine: Engine, given: string): QuestionRow {
  const exact = engine.ledger.question(given);
  if (exact !== null) return exact;
  const runId = resolveRunId(engine.ledger, given);
  const found = engine.ledger.questions().findLast((question) => question.runId === runId);
  if (found !== undefined) return found;
  throw new QuestionClosedError(`${runId} has asked nothing`, {
    remedy: 'caisson questions lists the open ones.',
  });
}

async function record(
  engine: Engine,
  question: QuestionRow,
  type: 'question.answered' | 'question.expired',
  data: DataOf<typeof type>,
): Promise<void> {
  const trace = engine.ledger.read({ runId: question.runId, limit: 1 })[0]?.trace ?? '';
  await engine.recorder
    .of(question.runId, trace)
    .append(type, data, { attempt: question.attempt, id: `${type}:${question.questionId}` });
}
