import { parseDuration } from '@caisson/protocol';
import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { formatBytes } from '../format-values.ts';
import { withCaisson } from '../with-caisson.ts';

export const command = defineCommand({
  usage: '[--older-than DURATION]',
  about:
    'Removes blobs that nothing refers to, old spools and result files, and expired trash. Unsaved work is never touched.',
  options: {
    'older-than': {
      type: 'string',
      value: 'DURATION',
      summary: 'what is younger is kept; default 1d (trash 7d)',
    },
  },
  examples: [{ line: 'caisson gc', says: 'Tidy up this project.' }],
  run: ({ options, output }) =>
    withCaisson(options['state-dir'], async (caisson) => {
      const older = options['older-than'] === undefined ? undefined : parseDuration(options['older-than']);
      const report = await caisson.gc(older === undefined ? {} : { graceMs: older, trashTtlMs: older });
      output.result(
        report,
        () =>
          `removed ${report.blobs} blobs (${formatBytes(report.bytes)}), ${report.results} results, ${report.spools} spools, ${report.workspaces.length} trashed workspaces, ${report.sessions.length} private sessions`,
      );
      return EXIT_CODES.finished;
    }),
});
