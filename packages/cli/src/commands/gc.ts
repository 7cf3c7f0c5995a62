import { parseDuration } from '@caisson/protocol';
import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { formatBytes } from '../format-values.ts';
import { printWarnings } from '../print-warnings.ts';
import { withCaissonToRead } from '../with-caisson.ts';

const HELD_BACK_HINT =
  'Copy what you need; caisson forget RUN deletes the rest of a run, caisson gc --held-back of all.';
const FULL_HINT =
  'Remove what you do not need of it (of a worktree: files; of a finished run: caisson forget RUN), or make the disk larger.';

export const command = defineCommand({
  usage: '[--older-than DURATION] [--held-back]',
  about:
    'Removes blobs that nothing refers to, old spools and result files, and expired trash. The only copy of work, such as a file too large to capture, stays and is named.\n' +
    'Where store.s3 is set, it also sends every blob that the bucket lacks.',
  options: {
    'older-than': {
      type: 'string',
      value: 'DURATION',
      summary: 'what is younger is kept, 0s keeps nothing; default 1d (trash 7d, held back 0s)',
    },
    'held-back': {
      type: 'boolean',
      summary: 'delete for good, and name, also work that nothing but the state folder holds',
    },
  },
  examples: [
    { line: 'caisson gc', says: 'Clean up this project.' },
    { line: 'caisson gc --held-back --older-than 30d', says: 'Delete also old work that was never fetched.' },
  ],
  run: ({ options, output }) =>
    withCaissonToRead(options['state-dir'], output, async (caisson) => {
      printWarnings(caisson, output);
      const older =
        options['older-than'] === undefined ? undefined : parseDuration(options['older-than'], { minMs: 0 });
      const report = await caisson.gc({
        ...(older === undefined ? {} : { graceMs: older, trashTtlMs: older }),
        ...(options['held-back'] === true ? { heldBackTtlMs: older ?? 0 } : {}),
      });
      output.result(report, () => [
        `removed ${report.blobs} blobs (${formatBytes(report.bytes)}), ${report.results} results, ${report.spools} spools, ${report.workspaces.length} trashed workspaces, ${report.sessions.length} private sessions${report.sent === null ? '' : `; sent ${report.sent} blobs to the bucket`}`,
        ...(options['held-back'] === true
          ? report.workspaces.map((path) => `deleted for good: ${path}`)
          : []),
        ...report.heldBack.map((path) => `kept, because it is the only copy: ${path}`),
        ...(report.heldBack.length === 0 ? [] : [HELD_BACK_HINT]),
        ...(report.largest.length === 0 ? [] : ['The disk is full. What takes most space here:']),
        ...report.largest.map(({ path, bytes }) => `  ${formatBytes(bytes)}  ${path}`),
        ...(report.largest.length === 0 ? [] : [FULL_HINT]),
      ]);
      return EXIT_CODES.finished;
    }),
});
