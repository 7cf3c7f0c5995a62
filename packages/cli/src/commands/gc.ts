import { parseDuration } from '@caisson/protocol';
import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { formatBytes } from '../format-values.ts';
import { tellWarnings } from '../tell-warnings.ts';
import { withCaissonToRead } from '../with-caisson.ts';

export const command = defineCommand({
  usage: '[--older-than DURATION]',
  about:
    'Removes blobs that nothing refers to, old spools and result files, and expired trash. Unsaved work is never touched.\n' +
    'Where store.s3 is set, it also sends every blob that the bucket lacks.',
  options: {
    'older-than': {
      type: 'string',
      value: 'DURATION',
      summary: 'what is younger is kept; default 1d (trash 7d)',
    },
  },
  examples: [{ line: 'caisson gc', says: 'Tidy up this project.' }],
  run: ({ options, output }) =>
    withCaissonToRead(options['state-dir'], output, async (caisson) => {
      tellWarnings(caisson, output);
      const older = options['older-than'] === undefined ? undefined : parseDuration(options['older-than']);
      const report = await caisson.gc(older === undefined ? {} : { graceMs: older, trashTtlMs: older });
      output.result(report, () => [
        `removed ${report.blobs} blobs (${formatBytes(report.bytes)}), ${report.results} results, ${report.spools} spools, ${report.workspaces.length} trashed workspaces, ${report.sessions.length} private sessions${report.sent === null ? '' : `; sent ${report.sent} blobs to the bucket`}`,
      ]);
      return EXIT_CODES.finished;
    }),
});
