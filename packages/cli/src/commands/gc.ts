import type { GarbageReport } from '@caisson/engine';
import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { formatBytes } from '../format-values.ts';
import { wrapLine } from '../painted.ts';
import { printWarnings } from '../print-warnings.ts';
import { readDuration } from '../read-duration.ts';
import { showProgress } from '../show-progress.ts';
import { withCaissonToRead } from '../with-caisson.ts';
import { keepYoungSpaceSmall } from '../young-space.ts';

const INDENT = 2;
const HELD_BACK_HINT =
  'Copy what you need; caisson forget RUN deletes the rest of a run, caisson gc --held-back of all.';
const KEPT_HINT =
  'caisson forget RUN deletes one of them with all it has, caisson gc --all --held-back all of them.';
const FULL_HINT =
  'Remove what you do not need of it (of a worktree: files; of a finished run: caisson forget RUN), or make the disk larger.';
const WHY_KEPT: Readonly<Record<GarbageReport['keptFor'][string]['why'], (runId: string) => string>> = {
  question: (runId) => `its question is open: caisson answer ${runId} "…"`,
  beside: (runId) => `it has more than its patch, which caisson show ${runId} names`,
  unreadable: (runId) => `what it has cannot be read: caisson verify ${runId}`,
  unapplied: (runId) => `you do not have its work: caisson apply ${runId}`,
  unpatched: (runId) =>
    `its checkpoint has files that its patch lacks: git for-each-ref refs/caisson/${runId}`,
  replaced: (runId) => `it replaced files of yours that were not committed: caisson diff ${runId}`,
  outputs: (runId) =>
    `it has outputs; caisson outputs ${runId} --to FOLDER copies them, then caisson forget ${runId}`,
  unclean: () => 'its files are still where it worked; the next gc looks again',
  'held-back': (runId) => `files of it are nowhere else, which caisson show ${runId} names`,
};
const WORDS = { age: 'for its age', size: 'for the size of the trash', asked: 'for good' } as const;

export const command = defineCommand({
  usage: '[--older-than DURATION] [--all] [--held-back]',
  about:
    'Removes blobs that nothing refers to, old spools and result files, and expired trash (limits.trash, limits.trashAge), and names what leaves the trash. The only copy of work, such as a file too large to capture, stays and is named. Copies of remote repositories that no run needs go after git.cacheAge.\n' +
    'With --all also the contents of every run that ended, as caisson forget does, with its checkpoint: only where you have its work (applied, on a branch, in place) or there was none. The next git gc of your repository removes the objects.\n' +
    'Where the ledger has lost runs, or is another one than before, their blobs are unknown: none is removed until caisson doctor --accept-ledger.\n' +
    'Where store.s3 is set, it also sends every blob that the bucket lacks.',
  options: {
    'older-than': {
      type: 'string',
      value: 'DURATION',
      summary:
        'what is younger is kept, 0s keeps nothing; default 1d (trash limits.trashAge, copies of remotes git.cacheAge, held back 0s)',
    },
    all: { type: 'boolean', summary: 'also forget runs that ended, unless they have the only copy of work' },
    'held-back': {
      type: 'boolean',
      summary: 'delete for good, and name, also work that nothing but the state folder holds',
    },
  },
  examples: [
    { line: 'caisson gc', says: 'Clean up this project.' },
    { line: 'caisson gc --all --older-than 0s', says: 'Keep only runs under way, and work you do not have.' },
    { line: 'caisson gc --held-back --older-than 30d', says: 'Delete also old work that was never fetched.' },
  ],
  run: ({ options, output }) => {
    keepYoungSpaceSmall();
    return withCaissonToRead(options['state-dir'], output, async (caisson) => {
      printWarnings(caisson, output);
      const older =
        options['older-than'] === undefined
          ? undefined
          : readDuration('--older-than', options['older-than'], { minMs: 0 });
      const report = await caisson.gc({
        ...(older === undefined ? {} : { graceMs: older, trashTtlMs: older, remotesTtlMs: older }),
        ...(options['held-back'] === true ? { heldBackTtlMs: older ?? 0 } : {}),
        all: options.all === true,
        onProgress: showProgress(
          output,
          (done, total) => `looking for what is needed: ${done} of ${total} events`,
        ),
      });
      output.result(report, () =>
        format(report).flatMap((one) => wrapLine(one, output.wrapColumns(), INDENT)),
      );
      return EXIT_CODES.finished;
    });
  },
});

function format(report: GarbageReport): string[] {
  const { forgotten, keptFor, heldBack, largest } = report;
  return [
    `removed ${report.blobs} blobs (${formatBytes(report.bytes)}), ${report.results} results, ${report.spools} spools, ${report.workspaces.length} trashed workspaces, ${report.sessions.length} private sessions${report.sent === null ? '' : `; sent ${report.sent} blobs to the bucket`}`,
    ...(forgotten.length === 0
      ? []
      : [`forgot ${forgotten.length} ${forgotten.length === 1 ? 'run' : 'runs'}: ${forgotten.join(' ')}`]),
    `freed ${formatBytes(report.freedBytes)} in the state folder`,
    ...report.remotes.map(
      ({ path, url, bytes }) => `deleted the copy of ${url ?? path} (${formatBytes(bytes)}): no run needs it`,
    ),
    ...report.deleted.flatMap(({ path, bytes, why }) =>
      why === null ? [] : [`deleted ${WORDS[why]}: ${path} (${formatBytes(bytes)})`],
    ),
    ...heldBack.map((path) => `kept, because it is the only copy: ${path}`),
    ...(heldBack.length === 0 ? [] : [HELD_BACK_HINT]),
    ...Object.entries(keptFor).map(([runId, kept]) => `kept ${runId}: ${describeKept(runId, kept)}`),
    ...(Object.keys(keptFor).length === 0 ? [] : [KEPT_HINT]),
    ...(largest.length === 0 ? [] : ['The disk is full. What takes most space here:']),
    ...largest.map(({ path, bytes }) => `  ${formatBytes(bytes)}  ${path}`),
    ...(largest.length === 0 ? [] : [FULL_HINT]),
  ];
}

function describeKept(runId: string, { why, continuedBy }: GarbageReport['keptFor'][string]): string {
  return why === 'unapplied' && continuedBy !== undefined
    ? `you applied ${continuedBy}, which continued it; if that has all you want: caisson forget ${runId}`
    : WHY_KEPT[why](runId);
}
