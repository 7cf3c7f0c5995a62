import { diffText, listPatchFiles } from '@caisson/engine';
import { listRisks } from '../apply-asking.ts';
import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { formatDiff, formatDiffStat } from '../format-diff.ts';
import { listOutsideScope, listSomeBeside } from '../format-ending.ts';
import { withCaissonToRead } from '../with-caisson.ts';

export const command = defineCommand({
  usage: '[RUN] [--stat]',
  about:
    'The patch of a run, also of one that failed or was cancelled; of the newest if RUN is left out. In a pipe it is byte\n' +
    'for byte the input of git apply.',
  options: {
    stat: { type: 'boolean', summary: 'only the files, with how many lines each gained and lost' },
  },
  positionals: { min: 0, max: 1 },
  examples: [
    { line: 'caisson diff', says: 'Show what the newest run changed.' },
    { line: 'caisson diff --stat', says: 'Which files, and how much.' },
    { line: 'caisson diff latest | git apply', says: 'Apply it by hand.' },
  ],
  run: ({ options, positionals, output }) =>
    withCaissonToRead(options['state-dir'], output, async (caisson) => {
      const patch = await caisson.patch(positionals[0] ?? 'latest');
      const {
        runId,
        risky = [],
        beside = [],
        outsideScope = [],
      } = await caisson.show(positionals[0] ?? 'latest');
      if (output.format !== 'human')
        output.result(
          {
            ...(options.stat ? {} : { patch: patch.toString('base64'), encoding: 'base64' }),
            bytes: patch.length,
            ...(options.stat ? { files: listPatchFiles(patch) } : {}),
            ...(risky.length === 0 ? {} : { risky }),
            ...(beside.length === 0 ? {} : { beside }),
            ...(outsideScope.length === 0 ? {} : { outsideScope }),
          },
          () => [],
        );
      else if (patch.length === 0)
        output.note(beside.length === 0 ? 'The run changed nothing.' : 'The patch is empty.');
      else if (options.stat) output.result(null, () => formatDiffStat(listPatchFiles(patch), output.style));
      else output.copy(patch, { format: () => formatDiff(diffText(patch), output.style) });
      if (risky.length > 0)
        output.note(['Asked about before it is applied (--allow-risky):', ...listRisks(risky)]);
      if (beside.length > 0) output.note(listSomeBeside({ runId, beside }));
      if (outsideScope.length > 0) output.note(listOutsideScope({ outsideScope }));
      return EXIT_CODES.finished;
    }),
});
