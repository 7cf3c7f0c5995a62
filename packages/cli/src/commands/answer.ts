import { defineCommand } from '../command.ts';
import { withCaissonToWork } from '../with-caisson.ts';
import { watchRun } from '../watch-run.ts';

export const command = defineCommand({
  usage: 'QUESTION|RUN "ANSWER"',
  about: 'Answers once, and starts the run that continues with the question, its context and your answer.',
  options: {},
  positionals: { min: 2, max: 2 },
  examples: [
    { line: 'caisson answer latest "use the second option"', says: 'Answer the question of a run.' },
  ],
  run: ({ options, positionals, output }) =>
    withCaissonToWork(options['state-dir'], output, async (caisson) => {
      const [given = '', answer = ''] = positionals;
      // The newest, open or not: an answer must not reach an older question because the intended one has expired.
      const question = given === 'latest' ? ((await caisson.questions()).at(-1)?.questionId ?? given) : given;
      const { code } = await watchRun(caisson, () => caisson.answer(question, answer), output, {
        stateDir: options['state-dir'],
      });
      return code;
    }),
});
