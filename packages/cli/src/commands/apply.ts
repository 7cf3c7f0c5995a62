import { applyAsking } from '../apply-asking.ts';
import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { listSomeBeside } from '../format-ending.ts';
import { withCaisson } from '../with-caisson.ts';

export const command = defineCommand({
  usage: 'RUN [--leave-conflicts] [--force] [--allow-risky] [--outside-scope]',
  about:
    'Applies the patch to your files: all of it or nothing. Files you changed meanwhile are merged three-way. Files\n' +
    'that make another program run something (a CI workflow, an install script) are listed and asked about first. Files outside\n' +
    'the scope of the task (--scope of run) are listed and not applied, and nothing else is, unless you say --outside-scope.',
  options: {
    'leave-conflicts': { type: 'boolean', summary: 'write conflict markers instead of changing nothing' },
    force: { type: 'boolean', summary: 'merge also into files with uncommitted changes' },
    'allow-risky': {
      type: 'boolean',
      summary: 'apply CI workflows, install scripts and the like without asking',
    },
    'outside-scope': {
      type: 'boolean',
      summary: 'apply also files that the scope of the task does not cover',
    },
  },
  positionals: { min: 1, max: 1 },
  examples: [
    { line: 'caisson apply latest', says: 'Apply what the newest run did.' },
    {
      line: 'caisson apply latest --allow-risky',
      says: 'The same with its CI workflow, after you have read it.',
    },
  ],
  run: ({ options, positionals, output }) =>
    withCaisson(
      options['state-dir'],
      async (caisson) => {
        const code = await applyAsking(
          caisson,
          positionals[0] ?? '',
          {
            leaveConflicts: options['leave-conflicts'],
            force: options.force,
            allowRisky: options['allow-risky'],
            allowOutsideScope: options['outside-scope'],
            stateDir: options['state-dir'],
          },
          output,
        );
        const { beside, result, runId } = await caisson.show(positionals[0] ?? '');
        if (beside !== undefined) output.note(listSomeBeside({ runId, beside }));
        if (code === EXIT_CODES.finished && result?.verify?.passed === false)
          output.note([`Its check did not pass: caisson show ${runId}`]);
        return code;
      },
      output,
    ),
});
