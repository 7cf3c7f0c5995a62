import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { CANCEL_OUTCOMES } from '../format-cancel.ts';
import { withCaissonToSteer } from '../with-caisson.ts';

export const command = defineCommand({
  usage: 'RUN',
  about: 'The run gets SIGTERM and its grace, then everything it started is killed. Its work is kept.',
  options: { force: { type: 'boolean', summary: 'kill at once, without grace' } },
  positionals: { min: 1, max: 1 },
  examples: [{ line: 'caisson cancel latest', says: 'Stop the newest run.' }],
  run: ({ options, positionals, output }) =>
    withCaissonToSteer(options['state-dir'], output, async (caisson) => {
      const runId = await caisson.find(positionals[0] ?? '');
      const outcome = await caisson.cancel(runId, { force: options.force });
      output.result({ runId, outcome }, () => [`${runId} ${CANCEL_OUTCOMES[outcome]}`]);
      return outcome === 'not-driven' ? EXIT_CODES.failed : EXIT_CODES.finished;
    }),
});
