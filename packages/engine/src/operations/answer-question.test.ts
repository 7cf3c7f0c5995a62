import { systemClock } from '@caisson/ground';
import { expect, test } from 'vitest';
import { SAMPLE_DATA } from '../../../protocol/src/fixtures/sample-events.ts';
import { createMemoryLedger, createRecorder } from '../ledger/index.ts';
import { expireQuestions } from './answer-question.ts';

const ASKED = 'run_00000000000000000001';
const NEXT = 'run_00000000000000000002';
const REF = 'a'.repeat(64);

/** A run that asked, whose deadline has passed, and a run that continues it with this request. */
async function openAnswered(request: unknown) {
  const ledger = createMemoryLedger();
  const recorder = createRecorder({ ledger, clock: systemClock });
  const accepted = SAMPLE_DATA['dispatch.accepted'];
  const asked = recorder.of(ASKED);
  await asked.append('dispatch.accepted', accepted);
  const question = { questionId: 'q_1', text: 'Which?', deadlineAt: '2020-01-01T00:00:00.000Z' };
  await asked.append('question.asked', question, { attempt: 1 });
  await asked.append(
    'dispatch.needs_input',
    { ...SAMPLE_DATA['dispatch.needs_input'], questionId: 'q_1' },
    { attempt: 1 },
  );
  const { idempotencyKey: _, ...other } = accepted;
  await recorder.of(NEXT).append('dispatch.accepted', { ...other, continues: ASKED, requestRef: REF });
  const store = { getBlob: () => Promise.resolve(Buffer.from(JSON.stringify(request))) };
  await expireQuestions({ ledger, recorder, store, clock: systemClock } as never);
  return { question: ledger.question('q_1'), run: ledger.run(ASKED) };
}

test('a question that was answered before its host died does not expire', async () => {
  const answer = { question: 'Which?', answer: 'this', questionId: 'q_1' };
  const { question, run } = await openAnswered({ task: 'x', answer });
  expect(question).toMatchObject({ status: 'answered', answer: 'this', continuedBy: NEXT });
  expect(run).toMatchObject({ status: 'answered' });
});

test('a question that was only retried, or whose next request cannot be read, expires', async () => {
  expect((await openAnswered({ task: 'x' })).question).toMatchObject({ status: 'expired' });
  expect((await openAnswered('no request')).question).toMatchObject({ status: 'expired' });
});
