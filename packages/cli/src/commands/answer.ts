import { findDaemon, readHostEnvironment, type Caisson } from '@caisson/engine';
import { CaissonError } from '@caisson/protocol';
import { answerRun } from '../answer-run.ts';
import { defineCommand } from '../command.ts';
import { EXIT_CODES, type ExitCode } from '../exit-codes.ts';
import type { Output } from '../output.ts';
import { withCaissonToSteer, withCaissonToWork } from '../with-caisson.ts';
import { watchRun } from '../watch-run.ts';
import { readVariables } from './run-request.ts';

export const command = defineCommand({
  usage: 'QUESTION|RUN|THREAD "ANSWER" [--env KEY[=V]]',
  about:
    'Answers once, and starts the run that continues with the question, its context and your answer. A thread of a\n' +
    'workflow goes on by itself. The options of a question are proposals: another text is passed on, with a warning.',
  options: {
    env: {
      type: 'string',
      multiple: true,
      value: 'KEY[=V]',
      summary: 'a variable that the run was given by value: values are not stored',
    },
  },
  positionals: { min: 2, max: 2 },
  examples: [
    { line: 'caisson answer latest "use the second option"', says: 'Answer the question of a run.' },
  ],
  async run({ options, positionals, output }) {
    const [name = '', answer = ''] = positionals;
    const { env, 'state-dir': stateDir } = options;
    const given = readVariables(env, readHostEnvironment());
    const asked = await withCaissonToSteer(stateDir, output, async (caisson) => {
      const found = await findAsked(caisson, name);
      warnUnoffered(found, answer, output);
      if (found?.threadId !== undefined) await caisson.answer(found.questionId, answer);
      return found;
    });
    if (asked?.threadId !== undefined) return await reportThread(asked, stateDir, output);
    const question = asked?.questionId ?? name;
    return await withCaissonToWork(stateDir, output, async (caisson) => {
      const answering = () => answerRun(caisson, question, answer, given);
      return (await watchRun(caisson, answering, output, { stateDir })).code;
    });
  },
});

/** It goes on by itself, and starts nothing here. */
async function reportThread(
  { questionId, threadId = '' }: Question,
  stateDir: string | undefined,
  output: Output,
): Promise<ExitCode> {
  const isServed = (await findDaemon({ stateDir })).kind !== 'none';
  output.result({ questionId, threadId }, () => [
    `answered: ${threadId} goes on${isServed ? '' : ' with the next daemon (caisson up -d)'}`,
  ]);
  return EXIT_CODES.finished;
}

/** An agent that offered options may understand nothing else; a person may know better. */
function warnUnoffered(asked: Question | undefined, answer: string, output: Output): void {
  const options = (asked?.status === 'open' ? asked.options : undefined)?.map(String) ?? [];
  if (answer.trim() === '' || options.length === 0 || options.includes(answer)) return;
  output.note(
    `warning: the question offers ${options.map((one) => `"${one}"`).join(', ')}; "${answer}" is passed on as it is`,
  );
}

type Question = Awaited<ReturnType<Caisson['questions']>>[number];

/** The newest, open or not: an answer must not reach an older question because the intended one has expired. */
async function findAsked(caisson: Caisson, given: string): Promise<Question | undefined> {
  const all = await caisson.questions();
  const find = (name: string): Question | undefined =>
    all.findLast(({ questionId, runId }) => given === 'latest' || name === questionId || name === runId);
  return find(given) ?? find(await findThread(caisson, given));
}

/** A unique part of its id stands for a thread; what fits none may be a part of the id of a run. */
async function findThread({ residents }: Caisson, given: string): Promise<string> {
  try {
    return (await residents.thread(given)).threadId;
  } catch (error) {
    if (error instanceof CaissonError && error.code === 'THREAD_NOT_FOUND') return given;
    throw error;
  }
}
