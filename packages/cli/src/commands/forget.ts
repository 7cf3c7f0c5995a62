import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { printWarnings } from '../print-warnings.ts';
import { withCaisson } from '../with-caisson.ts';

export const command = defineCommand({
  usage: 'RUN',
  about:
    "Deletes a run's contents from this disk for good: output, patch, result, evidence, checkpoint and workspace. Kept are what\n" +
    'another run has too, and what is younger than a run that is under way, until a later gc; and every blob while the\n' +
    'ledger has lost runs (see caisson gc). The ledger never changes: the\n' +
    'task, its events, questions and answers, and the beginning and end of what was printed stay in it.',
  options: {},
  positionals: { min: 1, max: 1 },
  examples: [{ line: 'caisson forget run_01k…', says: 'What is left of it: caisson show run_01k…' }],
  run: ({ options, positionals, output }) =>
    withCaisson(options['state-dir'], async (caisson) => {
      printWarnings(caisson, output);
      const runId = await caisson.forget(positionals[0] ?? '');
      output.result({ forgotten: runId }, () => [`${runId} is forgotten`]);
      return EXIT_CODES.finished;
    }),
});
