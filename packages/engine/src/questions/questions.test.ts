import { systemClock } from '@caisson/ground';
import type { DispatchRequest } from '@caisson/protocol';
import { describe, expect, test } from 'vitest';
import { SAMPLE_DATA } from '../../../protocol/src/fixtures/sample-events.ts';
import { createMemoryLedger, createRecorder } from '../ledger/index.ts';
import { createQuestions } from './create-questions.ts';

const ASKED = 'run_00000000000000000001';
const NEXT = 'run_00000000000000000002';
const PAST = '2020-01-01T00:00:00.000Z';
const { idempotencyKey: _, ...ACCEPTED } = SAMPLE_DATA['dispatch.accepted'];

/** A run that asked, and a project in which `alive` hosts live and runs are accepted. */
async function open({ deadlineAt, alive = [] }: { deadlineAt?: string; alive?: string[] } = {}) {
  const ledger = createMemoryLedger();
  const recorder = createRecorder({ ledger, clock: systemClock });
  const requests = new Map<string, DispatchRequest>();
  let refusal: string | null = null;
  const refuse = (why: string | null): void => void (refusal = why);
  const accept = async (runId: string, request: DispatchRequest): Promise<string> => {
    if (refusal !== null) throw new Error(refusal);
    requests.set(runId, request);
    await recorder.of(runId).append('dispatch.accepted', { ...ACCEPTED, continues: ASKED }, { attempt: 0 });
    return runId;
  };
  const asked = recorder.of(ASKED);
  await asked.append('dispatch.accepted', ACCEPTED, { attempt: 0 });
  const question = { questionId: 'q_1', text: 'Which?', options: ['this', 'that'] };
  const deadline = deadlineAt === undefined ? {} : { deadlineAt };
  await asked.append('question.asked', { ...question, ...deadline }, { attempt: 1 });
  const ending = { ...SAMPLE_DATA['dispatch.needs_input'], questionId: 'q_1' };
  await asked.append('dispatch.needs_input', ending, { attempt: 1 });
  const questions = createQuestions<string>({
    clock: systemClock,
    hostId: 'host_here',
    ledger,
    recorder,
    isHostAlive: (hostId) => Promise.resolve(alive.includes(hostId)),
    resolveRun: (given) => given,
    isForgotten: () => false,
    beginRun: () => Promise.resolve(),
    requireContents: () => undefined,
    async readRequest(runId) {
      const request = requests.get(runId);
      if (request === undefined) throw new Error('it cannot be read');
      return request;
    },
    continueRun: (_runId, next) => accept(next.runId, { task: 'x', ...next }),
  });
  return { ledger, requests, questions, accept, refuse };
}

describe('an answer', () => {
  test('that is empty is refused, and the question stays open', async () => {
    const { questions, ledger } = await open();
    for (const empty of ['', ' \n']) {
      const refused = { code: 'USAGE', remedy: expect.stringContaining(`caisson answer ${ASKED}`) };
      await expect(questions.answer(ASKED, empty)).rejects.toMatchObject(refused);
    }
    expect(ledger.question('q_1')).toMatchObject({ status: 'open' });
  });

  test('goes to the run that continues, and closes the question', async () => {
    const { questions, ledger, requests } = await open();
    const next = await questions.answer(ASKED, 'this');
    const asked = { question: 'Which?', options: ['this', 'that'], answer: 'this', questionId: 'q_1' };
    expect(requests.get(next ?? '')).toEqual({ task: 'x', runId: next, answer: asked });
    expect(ledger.question('q_1')).toMatchObject({ status: 'answered', answer: 'this', continuedBy: next });
    await expect(questions.answer('q_1', 'that')).rejects.toMatchObject({
      code: 'QUESTION_CLOSED',
      message: `the question of ${ASKED} was answered already (${next})`,
      remedy: `To continue anyway: caisson retry ${next}`,
    });
  });

  test('is given once, also when three processes answer at the same time', async () => {
    const { questions, requests } = await open({ alive: ['host_here'] });
    const all = await Promise.allSettled(['a', 'b', 'c'].map((text) => questions.answer('q_1', text)));
    expect(all.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected', 'rejected']);
    expect(requests.size).toBe(1);
  });

  test('waits for no host that died while it answered, and for every host that lives', async () => {
    for (const alive of [[], ['host_other']]) {
      const { questions, ledger } = await open({ alive });
      ledger.leases.tryHold('answer:q_1', NEXT, 'host_other');
      const answered = questions.answer('q_1', 'this');
      if (alive.length === 0) expect(await answered).toMatch(/^run_/);
      else await expect(answered).rejects.toThrow('is being answered right now');
    }
  });

  test('whose run is refused leaves the question open for the next one', async () => {
    const { questions, refuse } = await open();
    refuse('no money is left');
    await expect(questions.answer('q_1', 'this')).rejects.toThrow('no money is left');
    refuse(null);
    expect(await questions.answer('q_1', 'this')).toMatch(/^run_/);
  });
});

describe('the answer to a thread', () => {
  const THREAD = 'thread_00000000000000000001';
  async function ask(deadlineAt?: string) {
    const at = await open();
    const thread = createRecorder({ ledger: at.ledger, clock: systemClock }).of(THREAD);
    await thread.append('thread.accepted', SAMPLE_DATA['thread.accepted'], { attempt: 0 });
    const deadline = deadlineAt === undefined ? {} : { deadlineAt };
    await thread.append('question.asked', { questionId: 'q_t', text: 'Which?', ...deadline }, { attempt: 0 });
    return at;
  }

  test.each([THREAD, 'q_t'])('is recorded once, and no run continues (%s)', async (given) => {
    const { questions, ledger, requests } = await ask();
    expect(await questions.answer(given, 'this')).toBeNull();
    expect(ledger.question('q_t')).toMatchObject({ status: 'answered', answer: 'this' });
    expect(requests.size).toBe(0);
    await expect(questions.answer(given, 'that')).rejects.toMatchObject({
      code: 'QUESTION_CLOSED',
      remedy: `What became of it: caisson threads show ${THREAD}`,
    });
  });

  test('is given once, also when three processes answer at the same time', async () => {
    const { questions, ledger } = await ask();
    const all = await Promise.allSettled(['a', 'b', 'c'].map((text) => questions.answer('q_t', text)));
    expect(all.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected', 'rejected']);
    expect(ledger.read({ runId: THREAD, types: ['question.answered'] })).toHaveLength(1);
    for (const one of all)
      if (one.status === 'rejected') expect(one.reason).toMatchObject({ code: 'QUESTION_CLOSED' });
  });

  test('comes too late after the deadline', async () => {
    const { questions } = await ask(PAST);
    await expect(questions.answer('q_t', 'this')).rejects.toThrow('has expired');
  });
});

describe('a question whose deadline has passed', () => {
  test('is answered, not expired, when its host died after it had accepted the next run', async () => {
    const { questions, ledger, accept } = await open({ deadlineAt: PAST });
    const answer = { question: 'Which?', answer: 'this', questionId: 'q_1' };
    await accept(NEXT, { task: 'x', answer });
    expect(await questions.list()).toMatchObject([{ status: 'answered', answer: 'this', continuedBy: NEXT }]);
    expect(ledger.run(ASKED)).toMatchObject({ status: 'answered' });
  });

  test('expires when its run was only retried, or the next request cannot be read', async () => {
    const retried = await open({ deadlineAt: PAST });
    await retried.accept(NEXT, { task: 'x' });
    expect(await retried.questions.list()).toMatchObject([{ status: 'expired' }]);
    const unreadable = await open({ deadlineAt: PAST });
    await unreadable.accept(NEXT, { task: 'x' });
    unreadable.requests.clear();
    expect(await unreadable.questions.list()).toMatchObject([{ status: 'expired' }]);
    await expect(unreadable.questions.answer('q_1', 'this')).rejects.toThrow('has expired');
  });
});
