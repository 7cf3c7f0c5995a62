import type { Caisson, RunHandle } from '@caisson/engine';

/** Answers the question of a run: another run continues. */
export async function answerRun(
  caisson: Pick<Caisson, 'answer'>,
  question: string,
  answer: string,
  given?: Parameters<Caisson['answer']>[2],
): Promise<RunHandle> {
  const handle = await caisson.answer(question, answer, given);
  if (handle === null) throw new Error(`no run continues after the answer to ${question}`);
  return handle;
}
