import { applyAsking } from '../apply-asking.ts';
import { defineCommand } from '../command.ts';
import { listSomeBeside } from '../format-ending.ts';
import { withCaisson } from '../with-caisson.ts';

export const command = defineCommand({
  usage: 'RUN [--file PATH]… [--leave-conflicts] [--force] [--allow-risky] [--outside-scope] [--here]',
  about:
    'Applies the patch to your files: all of it, or nothing; with --file, of the named files. Files you changed meanwhile are merged three-way. Files\n' +
    'that make another program run something (a CI workflow, an install script) are listed and asked about first. Files outside\n' +
    'the scope of the task (--scope of run) are listed and not applied, and nothing else is, unless you say --outside-scope.\n' +
    'Work whose check (--verify of run) did not pass is asked about, and refused without a terminal, unless you say --force.\n' +
    'The patch of a run on a remote repository is for that repository: it is applied to the files here only with --here.',
  options: {
    file: {
      type: 'string',
      multiple: true,
      value: 'PATH',
      summary: 'apply only this file of the patch, named as caisson diff names it; repeatable',
    },
    'leave-conflicts': { type: 'boolean', summary: 'write conflict markers instead of changing nothing' },
    force: {
      type: 'boolean',
      summary: 'merge also into files with uncommitted changes, and apply work whose check did not pass',
    },
    'allow-risky': {
      type: 'boolean',
      summary: 'apply CI workflows, install scripts and the like without asking',
    },
    'outside-scope': {
      type: 'boolean',
      summary: 'apply also files that the scope of the task does not cover',
    },
    here: {
      type: 'boolean',
      summary: 'apply the patch of a run on a remote repository to the files here',
    },
  },
  positionals: { min: 1, max: 1 },
  examples: [
    { line: 'caisson apply latest', says: 'Apply what the newest run did.' },
    {
      line: 'caisson apply latest --file src/a.ts',
      says: 'Only this file; the rest can be applied later.',
    },
    {
      line: 'caisson apply latest --allow-risky',
      says: 'The same with its CI workflow, after you have read it.',
    },
  ],
  run: ({ options, positionals, output }) =>
    withCaisson(
      options['state-dir'],
      async (caisson) => {
        const { runId, beside } = await caisson.show(positionals[0] ?? '');
        const code = await applyAsking(
          caisson,
          runId,
          {
            ...(options.file.length === 0 ? {} : { only: options.file.map((path) => ({ path })) }),
            leaveConflicts: options['leave-conflicts'],
            force: options.force,
            evenIfCheckFailed: options.force,
            allowRisky: options['allow-risky'],
            allowOutsideScope: options['outside-scope'],
            here: options.here,
            stateDir: options['state-dir'],
          },
          output,
        );
        if (beside !== undefined) output.note(listSomeBeside({ runId, beside }));
        return code;
      },
      output,
    ),
});
