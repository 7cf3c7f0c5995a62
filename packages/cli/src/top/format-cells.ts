/** The columns of the table, and which of them fit. */
import type { ListedRun } from '@caisson/engine';
import { isWell } from '../format-live.ts';
import { formatCostSoFar, formatTimeSoFar, oneLine } from '../format-listed.ts';
import { formatStatus } from '../format-status.ts';
import { formatTable } from '../format-table.ts';
import { cutToWidth, formatBytes, formatDuration, shortId, widthOf } from '../format-values.ts';
import { padLine, type Line, type Lines, type Style } from '../painted.ts';
import { hasEnded, type Sort } from './top-state.ts';

interface Column {
  readonly title: string;
  /** The order that it is the title of. */
  readonly sort?: Sort;
  readonly isNumber?: true;
  /** The highest goes first where there is no room; 0 always stays. */
  readonly drop: number;
  format(run: ListedRun, context: Context): string;
}

interface Context {
  readonly now: number;
  readonly among: readonly ListedRun[];
}

const MAX_STATE = 18;
const MAX_TOOL = 18;
const MIN_TASK = 12;
const GAP = 2;

const COLUMNS: readonly Column[] = [
  { title: 'RUN', sort: 'newest', drop: 0, format: ({ runId }, { among }) => shortId(runId, among) },
  { title: 'STATE', sort: 'state', drop: 0, format: (run) => cutToWidth(describeState(run), MAX_STATE) },
  { title: 'TOOL', drop: 4, format: describeTool },
  {
    title: 'TOKENS',
    sort: 'tokens',
    isNumber: true,
    drop: 3,
    format: ({ live }) => formatTokens(live?.tokens),
  },
  { title: 'COST', sort: 'cost', isNumber: true, drop: 1, format: formatCostSoFar },
  {
    title: 'CPU',
    sort: 'cpu',
    isNumber: true,
    drop: 5,
    format: ({ live }) => formatPercent(live?.cpuPercent),
  },
  {
    title: 'MEMORY',
    sort: 'memory',
    isNumber: true,
    drop: 6,
    format: ({ live }) => (live?.memoryBytes === undefined ? '-' : formatBytes(live.memoryBytes)),
  },
  { title: 'HEALTH', drop: 2, format: describeHealth },
  { title: 'TIME', isNumber: true, drop: 2, format: (run, { now }) => formatTimeSoFar(run, now) },
  { title: 'TASK', drop: 0, format: ({ description }) => oneLine(description) },
];

export interface TableView {
  readonly style: Style;
  readonly columns: number;
  readonly now: number;
  readonly sort: Sort;
  readonly isReversed: boolean;
  readonly selected: string | null;
  /** All runs, so that a short id names one of them. */
  readonly among: readonly ListedRun[];
}

/** The title and a line for each run, none wider than the terminal. */
export function formatRows(runs: readonly ListedRun[], view: TableView): Lines {
  const fitting = fitColumns(runs, view);
  const rows = fitting[0]?.cells.map((_, row) => fitting.map(({ cells }) => cells[row] ?? '')) ?? [];
  const [title = '', ...lines] = formatTable(rows);
  return [view.style.bold(title), ...lines.map((each, index) => paintRow(each, runs[index], view))];
}

function paintRow(text: Line, run: ListedRun | undefined, { style, selected, columns }: TableView): Line {
  if (run === undefined) return text;
  if (run.runId === selected) return style.inverse(padLine(text, columns - 1));
  if (run.waitsFor !== undefined) return style.yellow(text);
  if (hasEnded(run)) return style.dim(text);
  return run.live !== undefined && !isWell(run.live.health) ? style.red(text) : text;
}

interface Filled {
  readonly column: Column;
  readonly cells: readonly string[];
  readonly width: number;
}

function fitColumns(runs: readonly ListedRun[], view: TableView): Filled[] {
  const filled = COLUMNS.map((column) => fill(column, runs, view));
  const order = [...new Set(COLUMNS.map(({ drop }) => drop))].toSorted((a, b) => b - a);
  const fixed = (kept: readonly Filled[]): number =>
    kept.slice(0, -1).reduce((sum, { width }) => sum + width + GAP, 0);
  const keptAt = order.map((most) => filled.filter(({ column }) => column.drop <= most));
  const kept = keptAt.find((each) => fixed(each) + MIN_TASK < view.columns) ?? keptAt.at(-1) ?? [];
  const room = Math.max(1, view.columns - 1 - fixed(kept));
  return kept.map((each, index) =>
    index < kept.length - 1 ? each : { ...each, cells: each.cells.map((cell) => cutToWidth(cell, room)) },
  );
}

function fill(
  column: Column,
  runs: readonly ListedRun[],
  { now, among, sort, isReversed }: TableView,
): Filled {
  const mark = column.sort === sort ? (isReversed ? '^' : 'v') : '';
  const cells = [column.title + mark, ...runs.map((run) => column.format(run, { now, among }))];
  const width = Math.max(...cells.map(widthOf));
  const aligned = column.isNumber ? cells.map((cell) => ' '.repeat(width - widthOf(cell)) + cell) : cells;
  return { column, cells: aligned, width };
}

function describeState(run: ListedRun): string {
  const { status, waitsFor, position, live } = run;
  if (waitsFor !== undefined) return waitsFor.kind === 'approval' ? 'waits for you' : 'asks you';
  if (status === 'queued') return position === undefined ? 'preparing' : `queued ${position}`;
  if (status !== 'running' || live === undefined) return formatStatus(run);
  if (live.isAlone === true) return 'waits for a daemon';
  return live.attempt > 1 ? `${live.phase}, try ${live.attempt}` : live.phase;
}

function describeTool({ live }: ListedRun, { now }: Context): string {
  const tool = live?.tool;
  if (tool === undefined) return '-';
  return `${cutToWidth(tool.name, MAX_TOOL - 8)} ${formatDuration(Math.max(0, now - Date.parse(tool.since)))}`;
}

function describeHealth({ live }: ListedRun): string {
  if (live === undefined) return '-';
  return live.stall?.reason ?? (isWell(live.health) ? 'ok' : live.health);
}

function formatTokens(tokens: number | undefined): string {
  if (tokens === undefined || tokens === 0) return '-';
  if (tokens < 10_000) return String(tokens);
  return tokens < 1_000_000 ? `${(tokens / 1000).toFixed(1)}k` : `${(tokens / 1_000_000).toFixed(1)}M`;
}

function formatPercent(percent: number | undefined): string {
  return percent === undefined ? '-' : `${percent.toFixed(percent < 10 ? 1 : 0)}%`;
}
