import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { withCaissonToSteer } from '../with-caisson.ts';

export const command = defineCommand({
  usage: 'APPROVAL|RUN|latest',
  about: 'Allows a waiting call. The first decision counts; a second one is refused as too late.',
  options: {},
  positionals: { min: 1, max: 1 },
  examples: [{ line: 'caisson approve latest', says: 'Allow the newest waiting call.' }],
  run: ({ options, positionals, output }) =>
    withCaissonToSteer(options['state-dir'], output, async (caisson) => {
      const { approvalId, runId, what } = await caisson.decide(positionals[0] ?? '', 'allow');
      output.result({ approvalId, runId, decision: 'allow' }, () => [`allowed: ${what}`]);
      return EXIT_CODES.finished;
    }),
});
