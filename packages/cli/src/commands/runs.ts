import type { ListedRun } from '@caisson/engine';
import { definedOnly, RUN_STATUSES, type RunStatus } from '@caisson/protocol';
import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { formatTable } from '../format-table.ts';
import { cutToWidth, formatCost, formatDuration } from '../format-values.ts';
import type { Line, Lines } from '../painted.ts';
import { UsageError } from '../usage-error.ts';
import { withCaissonToRead } from '../with-caisson.ts';

export const command = defineCommand({
  usage: '[--status STATUS] [--session NAME] [--limit N]',
  about:
    'Newest first. Status is derived from the ledger; what a crashed process left behind is settled first.',
  options: {
    status: { type: 'string', value: 'STATUS', choices: RUN_STATUSES, summary: 'only runs with this status' },
    session: { type: 'string', value: 'NAME', summary: 'only runs of this session' },
    limit: { type: 'string', value: 'N', summary: 'at most this many; default 50' },
  },
  examples: [
    { line: 'caisson runs', says: 'The last fifty runs.' },
    { line: 'caisson runs --status waiting -o json', says: 'Runs that wait for an answer, as JSON.' },
  ],
  run: ({ options, output }) =>
    withCaissonToRead(options['state-dir'], output, async (caisson) => {
      const rows = await caisson.runs({
        newestFirst: true,
        limit: readLimit(options.limit),
        ...(options.status === undefined ? {} : { status: options.status as RunStatus }),
        ...definedOnly({ session: options.session }),
      });
      output.result(rows, () => formatRuns(rows, output.style.bold));
      return EXIT_CODES.finished;
    }),
});

function readLimit(text = '50'): number {
  const limit = Number(text);
  if (Number.isSafeInteger(limit) && limit > 0) return limit;
  throw new UsageError(`--limit needs a whole number above 0, got "${text}"`);
}

function formatRuns(rows: readonly ListedRun[], bold: (text: Line) => Line): Lines {
  if (rows.length === 0) return ['No runs yet. Start one: caisson run "…"'];
  const cells = rows.map((row) => [
    row.runId,
    formatStatus(row),
    row.runtime ?? '-',
    row.durationMs === undefined ? '-' : formatDuration(row.durationMs),
    row.costUsd === undefined ? '-' : formatCost(row.costUsd, row.costIsEstimate),
    oneLine(row.description),
  ]);
  return formatTable([['RUN', 'STATUS', 'RUNTIME', 'TIME', 'COST', 'TASK'], ...cells], bold);
}

/** Who waits in the queue, and with which priority. */
function formatStatus({ status, position, priority }: ListedRun): string {
  return status === 'queued' && position !== undefined
    ? `${status}, number ${position}, priority ${priority}`
    : status;
}

function oneLine(text: string): string {
  return cutToWidth(text.slice(0, 1000).replaceAll(/\s+/g, ' ').trim(), 60);
}
