import type { ListedRun } from '@caisson/engine';
import { definedOnly, RUN_STATUSES, type RunStatus } from '@caisson/protocol';
import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { formatDoing } from '../format-live.ts';
import { formatStatus } from '../format-status.ts';
import { formatTable } from '../format-table.ts';
import { cutToWidth, formatAge, formatCost, formatDuration, shortId, widthOf } from '../format-values.ts';
import type { Line, Lines } from '../painted.ts';
import { UsageError } from '../usage-error.ts';
import { withCaissonToRead } from '../with-caisson.ts';

export const command = defineCommand({
  usage: '[--status STATUS] [--session NAME] [--limit N] [--wide]',
  about:
    'Newest first. Status is derived from the ledger; what a crashed process left behind is settled first. On a terminal\n' +
    'a run is named by the end of its id, which every command understands, and its task is cut to the width. From 100\n' +
    'columns on, and with --wide, a run under way says what it does now; -o json has all of it (live, waitsFor).',
  options: {
    status: {
      type: 'string',
      value: 'STATUS',
      choices: [...RUN_STATUSES, 'failed'],
      summary: 'only runs with this status',
    },
    session: { type: 'string', value: 'NAME', summary: 'only runs of this session' },
    limit: { type: 'string', value: 'N', summary: 'at most this many; default 50' },
    wide: { type: 'boolean', summary: 'whole ids and tasks, and when each was accepted, also on a terminal' },
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
        ...(options.status === undefined ? {} : { status: statusOf(options.status) }),
        ...definedOnly({ session: options.session }),
      });
      const columns = output.isInteractive && !options.wide ? output.columns() : null;
      const saysDoing = options.wide || (columns ?? 0) >= COLUMNS_FOR_DOING;
      const style = { bold: output.style.bold, columns, saysDoing, now: Date.now() };
      output.result(rows, () => formatRuns(rows, style));
      return EXIT_CODES.finished;
    }),
});

function readLimit(text = '50'): number {
  const limit = Number(text);
  if (Number.isSafeInteger(limit) && limit > 0) return limit;
  throw new UsageError(`--limit needs a whole number above 0, got "${text}"`);
}

/** What people read as failed is called error in the data. */
function statusOf(word: string): RunStatus {
  return word === 'failed' ? 'error' : (word as RunStatus);
}

interface TableStyle {
  readonly bold: (text: Line) => Line;
  /** Where lines are cut; null where the whole is wanted. */
  readonly columns: number | null;
  /** Whether there is room for what each run under way does now. */
  readonly saysDoing: boolean;
  readonly now: number;
}

const TITLES = ['RUN', 'STATUS', 'RUNTIME', 'WHEN', 'TIME', 'COST', 'TASK'];
const COLUMNS_FOR_DOING = 100;
const MIN_TASK_COLUMNS = 12;
const MAX_TASK_COLUMNS = 120;

function formatRuns(rows: readonly ListedRun[], { bold, columns, saysDoing, now }: TableStyle): Lines {
  if (rows.length === 0) return ['No runs yet. Start one: caisson run "…"'];
  const cells = rows.map((row) => [
    columns === null ? row.runId : shortId(row.runId, rows),
    formatStatus(row) + (saysDoing ? formatDoing(row, now) : ''),
    row.runtime ?? '-',
    columns === null ? row.acceptedAt : formatAge(now - Date.parse(row.acceptedAt)),
    formatTime(row, now),
    formatCostSoFar(row),
    oneLine(row.description),
  ]);
  return formatTable(fitLast([TITLES, ...cells], columns), bold);
}

/** The last column is cut so that the others stay whole. */
function fitLast(rows: readonly string[][], columns: number | null): string[][] {
  if (columns === null) return [...rows];
  const others = TITLES.slice(0, -1).map((_, column) =>
    Math.max(...rows.map((row) => widthOf(row[column] ?? ''))),
  );
  const used = others.reduce((sum, width) => sum + width + 2, 0);
  const room = Math.max(MIN_TASK_COLUMNS, columns - used);
  return rows.map((row) => [...row.slice(0, -1), cutToWidth(row.at(-1) ?? '', room)]);
}

/** A run that has not ended: how long ago it was accepted. */
function formatTime({ durationMs, acceptedAt, status }: ListedRun, now: number): string {
  if (durationMs !== undefined) return formatDuration(durationMs);
  return status === 'queued' || status === 'running'
    ? `${formatDuration(now - Date.parse(acceptedAt))} …`
    : '-';
}

/** A run under way: what it has cost so far. */
function formatCostSoFar({ costUsd, costIsEstimate, live }: ListedRun): string {
  if (costUsd !== undefined) return formatCost(costUsd, costIsEstimate);
  return live?.costUsd === undefined || live.costUsd === 0 ? '-' : `${formatCost(live.costUsd)} …`;
}

function oneLine(text: string): string {
  return cutToWidth(text.slice(0, 1000).replaceAll(/\s+/g, ' ').trim(), MAX_TASK_COLUMNS);
}
