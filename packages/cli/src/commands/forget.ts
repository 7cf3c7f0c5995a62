import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { withCaisson } from '../with-caisson.ts';

export const command = defineCommand({
  usage: 'RUN',
  about:
    "Takes a run's contents away for good: output, patch and checkpoint. That it happened stays in the ledger.",
  options: {},
  positionals: { min: 1, max: 1 },
  examples: [{ line: 'caisson forget run_01k…', says: 'Then caisson gc frees the space.' }],
  run: ({ options, positionals, output }) =>
    withCaisson(options['state-dir'], async (caisson) => {
      const runId = await caisson.forget(positionals[0] ?? '');
      output.result({ forgotten: runId }, () => `${runId} is forgotten; caisson gc frees the space`);
      return EXIT_CODES.finished;
    }),
});
