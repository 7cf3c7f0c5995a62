import type { ApplyResult } from '@caisson/engine';
import { defineCommand } from '../command.ts';
import { EXIT_CODES, type ExitCode } from '../exit-codes.ts';
import type { Output } from '../output.ts';
import type { Lines } from '../painted.ts';
import { withCaisson } from '../with-caisson.ts';

export const command = defineCommand({
  usage: 'RUN [--leave-conflicts] [--force]',
  about:
    'Brings the patch into your files: all of it or nothing. Files you changed meanwhile are merged three-way.',
  options: {
    'leave-conflicts': { type: 'boolean', summary: 'write conflict markers instead of changing nothing' },
    force: { type: 'boolean', summary: 'merge also into files with uncommitted changes' },
  },
  positionals: { min: 1, max: 1 },
  examples: [{ line: 'caisson apply latest', says: 'Take over what the newest run did.' }],
  run: ({ options, positionals, output }) =>
    withCaisson(
      options['state-dir'],
      async (caisson) => {
        const outcome = await caisson.apply(positionals[0] ?? '', {
          leaveConflicts: options['leave-conflicts'],
          force: options.force,
        });
        return printApplied(outcome, output, options['leave-conflicts']);
      },
      output,
    ),
});

const ALREADY = {
  'in-place': 'Nothing to apply: the run worked in place, so its changes are in your files already.',
  there: 'Nothing to apply: your files are already as the patch makes them.',
} as const;

/** Tells how an apply went; conflicts and dirty files are a failure for a shell. */
export function printApplied(outcome: ApplyResult, output: Output, leaveConflicts = false): ExitCode {
  output.result(outcome, () => describe(outcome, leaveConflicts));
  return outcome.kind === 'applied' ? EXIT_CODES.finished : EXIT_CODES.failed;
}

function describe(outcome: ApplyResult, leaveConflicts: boolean): Lines {
  const list = outcome.files.map((file) => `  ${file}`);
  switch (outcome.kind) {
    case 'applied':
      if (outcome.already !== undefined) return [ALREADY[outcome.already]];
      return outcome.files.length === 0
        ? ['Nothing to apply: the run changed no file.']
        : [`Applied to ${outcome.files.length === 1 ? '1 file' : `${outcome.files.length} files`}:`, ...list];
    case 'dirty':
      return [
        'Nothing was changed: these files have uncommitted changes. Commit them, or use --force to merge.',
        ...list,
      ];
    case 'conflicts':
      if (outcome.areMarkersLeft) return ['Merged with conflicts; look for markers in:', ...list];
      return leaveConflicts
        ? [
            'Nothing was changed: no markers can show how these files conflict. caisson retry does the task again on what is there now.',
            ...list,
          ]
        : ['Nothing was changed: these files conflict. --leave-conflicts writes markers.', ...list];
  }
}
