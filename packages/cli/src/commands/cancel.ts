import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { withCaisson } from '../with-caisson.ts';

const SAYS = {
  asked: 'was asked to stop',
  'ended-already': 'has already ended',
  settled: 'had lost its host and was settled',
  unanswered:
    'was asked to stop, but its host does not answer: is that process stopped? It obeys once it runs again.',
} as const;

export const command = defineCommand({
  usage: 'RUN',
  about: 'The run gets SIGTERM and its grace, then everything it started is killed. Its work is kept.',
  options: { force: { type: 'boolean', summary: 'kill at once, without grace' } },
  positionals: { min: 1, max: 1 },
  examples: [{ line: 'caisson cancel latest', says: 'Stop the newest run.' }],
  run: ({ options, positionals, output }) =>
    withCaisson(options['state-dir'], async (caisson) => {
      const runId = await caisson.find(positionals[0] ?? '');
      const outcome = await caisson.cancel(runId, { force: options.force });
      output.result({ runId, outcome }, () => [`${runId} ${SAYS[outcome]}`]);
      return EXIT_CODES.finished;
    }),
});
