import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { withCaisson } from '../with-caisson.ts';

export const command = defineCommand({
  usage: 'RUN',
  about:
    "Takes a run's contents away for good: output, patch, checkpoint and workspace. That it happened stays in the ledger,\n" +
    'with the beginning and end of what was printed. Its blobs leave the disk with the next gc once they are a day old.',
  options: {},
  positionals: { min: 1, max: 1 },
  examples: [
    { line: 'caisson forget run_01k…', says: 'Then, to free the space at once: caisson gc --older-than 1s' },
  ],
  run: ({ options, positionals, output }) =>
    withCaisson(options['state-dir'], async (caisson) => {
      const runId = await caisson.forget(positionals[0] ?? '');
      output.result(
        { forgotten: runId },
        () => `${runId} is forgotten; caisson gc --older-than 1s frees the space at once`,
      );
      return EXIT_CODES.finished;
    }),
});
