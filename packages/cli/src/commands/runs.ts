import type { ListedRun } from '@caisson/engine';
import { definedOnly, parseDuration, RUN_STATUSES, type RunStatus } from '@caisson/protocol';
import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { formatDoing } from '../format-live.ts';
import { formatCostSoFar, formatTimeSoFar, oneLine } from '../format-listed.ts';
import { formatStatus } from '../format-status.ts';
import { formatTable } from '../format-table.ts';
import { cutToWidth, formatAge, shortId, widthOf } from '../format-values.ts';
import type { Line, Lines } from '../painted.ts';
import { UsageError } from '../usage-error.ts';
import { withCaissonToRead } from '../with-caisson.ts';

export const command = defineCommand({
  usage:
    '[--status STATUS] [--agent NAME] [--runtime NAME] [--session NAME] [--since TIME] [--until TIME] [--text TEXT] [--after RUN] [--limit N] [--wide]',
  about:
    'Newest first. Status is derived from the ledger; what a crashed process left behind is settled first,\n' +
    'unless its agent goes on and waits for a daemon. On a terminal\n' +
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
    agent: { type: 'string', value: 'NAME', names: 'agents', summary: 'only runs of this agent' },
    runtime: { type: 'string', value: 'NAME', names: 'runtimes', summary: 'only runs of this runtime' },
    since: {
      type: 'string',
      value: 'TIME',
      summary: 'only runs accepted then or later: a date, a date and time, or how long ago (90s, 8h, 7d)',
    },
    until: { type: 'string', value: 'TIME', summary: 'only runs accepted before' },
    text: { type: 'string', value: 'TEXT', summary: 'only runs with this in their task' },
    after: {
      type: 'string',
      value: 'RUN',
      names: 'runs',
      summary: 'the next page: what follows the last run of the page before',
    },
    limit: { type: 'string', value: 'N', summary: 'at most this many; default 50' },
    wide: { type: 'boolean', summary: 'whole ids and tasks, and when each was accepted, also on a terminal' },
  },
  examples: [
    { line: 'caisson runs', says: 'The last fifty runs.' },
    { line: 'caisson runs --status waiting -o json', says: 'Runs that wait for an answer, as JSON.' },
    { line: 'caisson runs --since 8h --text login', says: 'Runs of today about the log-in.' },
  ],
  run: ({ options, output }) =>
    withCaissonToRead(options['state-dir'], output, async (caisson) => {
      const rows = await caisson.runs({
        newestFirst: true,
        limit: readLimit(options.limit),
        ...(options.status === undefined ? {} : { status: statusOf(options.status) }),
        ...definedOnly({
          session: options.session,
          agent: options.agent,
          runtime: options.runtime,
          since: readTime('since', options.since),
          until: readTime('until', options.until),
          text: options.text,
          after: options.after,
        }),
      });
      const columns = output.isInteractive && !options.wide ? output.columns() : null;
      const saysDoing = options.wide || (columns ?? 0) >= COLUMNS_FOR_DOING;
      const style = { bold: output.style.bold, columns, saysDoing, now: Date.now() };
      output.result(rows, () =>
        rows.length === 0 ? [describeNone(options, options.status)] : formatRuns(rows, style),
      );
      return EXIT_CODES.finished;
    }),
});

/** Other runs may be there. */
function describeNone(options: Readonly<Record<string, unknown>>, status: string | undefined): string {
  const filters = ['session', 'agent', 'runtime', 'since', 'until', 'text', 'after'];
  if (filters.some((name) => options[name] !== undefined)) return 'No run fits these options.';
  return status === undefined
    ? 'No runs yet. Start one: caisson run "…"'
    : `No run has the status ${status}.`;
}

function readLimit(text = '50'): number {
  const limit = Number(text);
  if (Number.isSafeInteger(limit) && limit > 0) return limit;
  throw new UsageError(`--limit needs a whole number above 0, got "${text}"`);
}

/** A date, or how long ago. */
function readTime(name: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const ms = /^\d{4}-/.test(text) ? Date.parse(text) : Date.now() - durationOf(text);
  if (!Number.isNaN(ms)) return new Date(ms).toISOString();
  throw new UsageError(
    `--${name} needs a time, such as 2026-01-31, 2026-01-31T12:00:00Z or 8h, got "${text}"`,
  );
}

function durationOf(text: string): number {
  try {
    return parseDuration(text);
  } catch {
    return Number.NaN;
  }
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

function formatRuns(rows: readonly ListedRun[], { bold, columns, saysDoing, now }: TableStyle): Lines {
  const cells = rows.map((row) => [
    columns === null ? row.runId : shortId(row.runId, rows),
    formatStatus(row) + (saysDoing ? formatDoing(row, now) : ''),
    row.runtime ?? '-',
    columns === null ? row.acceptedAt : formatAge(now - Date.parse(row.acceptedAt)),
    formatTimeSoFar(row, now),
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
