import { resolve } from 'node:path';
import type { OutputFile } from '@caisson/protocol';
import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { formatTable } from '../format-table.ts';
import { formatBytes } from '../format-values.ts';
import type { Lines, Style } from '../painted.ts';
import { withCaissonToRead } from '../with-caisson.ts';

export const command = defineCommand({
  usage: '[RUN] [--to FOLDER]',
  about:
    'The files that the agent left in outputs/, which are not part of the patch. RUN is the newest run if it is left out.\n' +
    'With --to they are copied: all of them or none, and no file is replaced.',
  options: {
    to: {
      type: 'string',
      value: 'FOLDER',
      summary: 'copy them into this folder; it is made if it is missing',
    },
  },
  positionals: { min: 0, max: 1 },
  examples: [
    { line: 'caisson outputs', says: 'What the newest run left to take away.' },
    { line: 'caisson outputs latest --to report', says: 'Copy it into the folder report.' },
  ],
  run: ({ options, positionals, output }) =>
    withCaissonToRead(options['state-dir'], output, async (caisson) => {
      const { runId, result } = await caisson.show(positionals[0] ?? 'latest');
      const outputs = result?.outputs ?? [];
      if (options.to === undefined) {
        output.result({ runId, outputs }, () => listOutputs(outputs, output.style));
        return EXIT_CODES.finished;
      }
      const saved = await caisson.saveOutputs(runId, options.to);
      const folder = resolve(options.to);
      output.result({ runId, folder, saved }, () =>
        saved.length === 0 ? ['The run left no outputs.'] : [...saved.map((path) => `${folder}/${path}`)],
      );
      return EXIT_CODES.finished;
    }),
});

function listOutputs(outputs: readonly OutputFile[], { bold }: Style): Lines {
  if (outputs.length === 0) return ['The run left no outputs.'];
  return formatTable([['FILE', 'SIZE'], ...outputs.map(({ path, size }) => [path, formatBytes(size)])], bold);
}
