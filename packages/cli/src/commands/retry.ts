import { defineCommand } from '../command.ts';
import { withCaissonToWork } from '../with-caisson.ts';
import { watchRun } from '../watch-run.ts';

export const command = defineCommand({
  usage: 'RUN',
  about:
    'The same task as a new run that continues the old one. Agents that support it resume their conversation.',
  options: {},
  positionals: { min: 1, max: 1 },
  examples: [{ line: 'caisson retry latest', says: 'Try the newest run again.' }],
  run: ({ options, positionals, output }) =>
    withCaissonToWork(options['state-dir'], output, async (caisson) => {
      const { code } = await watchRun(caisson, () => caisson.retry(positionals[0] ?? ''), output);
      return code;
    }),
});
