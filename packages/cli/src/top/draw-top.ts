/** The lines of the whole screen, for each page. */
import type { ListedRun } from '@caisson/engine';
import type { ScreenSize } from '../full-screen.ts';
import { describeLive } from '../format-live.ts';
import { formatCostSoFar, formatTimeSoFar, oneLine } from '../format-listed.ts';
import { summariseResidents } from '../format-residents.ts';
import { formatStatus } from '../format-status.ts';
import { cutToWidth, formatCost } from '../format-values.ts';
import { line, type Line, type Lines, type Style } from '../painted.ts';
import { drawConfirm } from './confirm-page.ts';
import { formatRows } from './format-cells.ts';
import { findPlace, listShown, TAILS, type RunPage, type TopState } from './top-state.ts';

export interface TopView {
  readonly size: ScreenSize;
  readonly style: Style;
  readonly now: number;
  /** Of the run that is open. */
  readonly tail: Lines;
}

export function drawTop(state: TopState, view: TopView): Lines {
  const { page } = state;
  switch (page.kind) {
    case 'table':
    case 'filter':
      return drawTable(state, view);
    case 'help':
      return HELP.map((text) => cutToWidth(text, view.size.columns - 1));
    case 'confirm':
      return drawConfirm(page.question, { ...page, message: state.message }, view.size, view.style);
    case 'run':
      return drawRun(state, page, view);
  }
}

function drawTable(state: TopState, view: TopView): Lines {
  const { style, size } = view;
  const head = describeHead(state, style, size.columns);
  const runs = listShown(state);
  const room = Math.max(1, size.rows - head.length - 3); // titles, message, keys
  const first = Math.max(0, Math.min(findPlace(state) - Math.floor(room / 2), runs.length - room));
  const shown = runs.slice(first, first + room);
  const body = runs.length === 0 ? ['', describeNone(state)] : tableOf(state, shown, view);
  return [
    ...fillTo([...head, ...body], size.rows - 2),
    line`${style.yellow(cutToWidth(state.message, size.columns - 1))}`,
    describeKeys(state, style, size.columns),
  ];
}

/** Without a screen: the same table, once. */
export function formatOnce(state: TopState, style: Style, columns: number, now: number): Lines {
  const runs = listShown(state);
  const view = { style, now, size: { rows: Infinity, columns }, tail: [] };
  const head = describeHead(state, style, columns);
  return [...head, ...(runs.length === 0 ? [describeNone(state)] : tableOf(state, runs, view))];
}

function tableOf(state: TopState, runs: readonly ListedRun[], { style, size, now }: TopView): Lines {
  const { sort, isReversed, selected, data } = state;
  return formatRows(runs, {
    style,
    columns: size.columns,
    now,
    sort,
    isReversed,
    selected,
    among: data.runs,
  });
}

function describeHead({ data: { runs, residents } }: TopState, style: Style, columns: number): Lines {
  const count = (isIt: (run: ListedRun) => boolean): number => runs.filter(isIt).length;
  const waiting = count(({ waitsFor }) => waitsFor !== undefined);
  const summary = [
    `${count(({ status }) => status === 'running')} running`,
    `${count(({ status }) => status === 'queued')} queued`,
    ...(waiting === 0 ? [] : [`${waiting} ${waiting === 1 ? 'waits' : 'wait'} for you`]),
    ...describeSpent(runs),
    residents === null ? 'no daemon' : 'daemon',
  ].join(', ');
  const lines = summariseResidents(residents ?? {}).map(([name, value]) => `${name} ${value}`);
  return [
    line`${style.bold('caisson top')}  ${cutToWidth(summary, columns - 14)}`,
    ...(lines.length === 0 ? [] : [cutToWidth(`residents: ${lines.join('; ')}`, columns - 1)]),
  ];
}

function describeSpent(runs: readonly ListedRun[]): string[] {
  const spent = runs.reduce(
    (sum, { status, live }) => sum + (status === 'running' ? (live?.costUsd ?? 0) : 0),
    0,
  );
  return spent === 0 ? [] : [`${formatCost(spent)} by those that run`];
}

function describeNone({ data, filter }: TopState): string {
  return data.runs.length === 0
    ? 'No runs yet. Start one in another shell: caisson run "…"'
    : `No run fits${filter === '' ? '. Ended ones are hidden: e shows them.' : ` "${filter}". Escape shows all.`}`;
}

function describeKeys(state: TopState, style: Style, columns: number): Line {
  if (state.page.kind === 'filter')
    return line`${style.bold('filter:')} ${cutToWidth(`${state.filter}_   enter keeps it, escape drops it`, columns - 9)}`;
  const filter = state.filter === '' ? '' : `: ${state.filter}`;
  const keys = `enter open  a allow  d deny  c cancel  s sort: ${state.sort}  / filter${filter}  e ended  ? help  q quit`;
  return style.dim(cutToWidth(keys, columns - 1));
}

function drawRun(state: TopState, { runId, tail: name, up }: RunPage, view: TopView): Lines {
  const { style, size, now, tail } = view;
  const run = state.data.runs.find((each) => each.runId === runId);
  const head = fillTo(describeRun(run, runId, view), Math.min(HEAD_ROWS, Math.floor(size.rows / 3)));
  const room = Math.max(1, size.rows - head.length - 3);
  const end = Math.max(Math.min(tail.length, room), tail.length - up);
  const tabs = TAILS.map((each) => (each === name ? style.bold(each) : style.dim(each)));
  const place = end < tail.length ? `  ${tail.length - end} lines below` : '';
  const at = formatTimeOfDay(now);
  return [
    ...head,
    line`${tabs[0] ?? ''}  ${tabs[1] ?? ''}  ${tabs[2] ?? ''}${style.dim(`  ${at}${place}`)}`,
    ...fillTo(tail.slice(Math.max(0, end - room), end), room),
    line`${style.yellow(cutToWidth(state.message, size.columns - 1))}`,
    style.dim(
      cutToWidth(
        'escape back  tab events, output  up/down scroll  a allow  d deny  c cancel',
        size.columns - 1,
      ),
    ),
  ];
}

const HEAD_ROWS = 10;
const formatTimeOfDay = (now: number): string => `${new Date(now).toISOString().slice(11, 19)} UTC`;

function describeRun(run: ListedRun | undefined, runId: string, { style, size, now }: TopView): Lines {
  if (run === undefined) return [style.bold(runId), 'It is no longer in the list.'];
  const width = size.columns - 1;
  const facts = [
    formatStatus(run),
    formatTimeSoFar(run, now),
    formatCostSoFar(run),
    ...[run.runtime, run.agent, run.session].filter((each) => each !== undefined),
  ].join('  ');
  return [
    style.bold(cutToWidth(`${runId}  ${facts}`, width)),
    cutToWidth(oneLine(run.description), width),
    ...describeLive(run, now).map((each) => cutToWidth(String(each), width)),
    ...(run.failure === undefined ? [] : [style.red(cutToWidth(oneLine(run.failure.detail), width))]),
    ...(run.live === undefined ? [style.dim(`all of it: caisson show ${runId}`)] : []),
  ];
}

function fillTo(lines: Lines, rows: number): Line[] {
  return Array.from({ length: Math.max(0, rows) }, (_, row) => lines[row] ?? '');
}

const HELP: readonly string[] = [
  'caisson top: what runs now, what waits for you, and what it costs. All of it changes by itself.',
  '',
  'up, down, page up, page down, home, end, j, k   select a run',
  'enter, o   open it: what it does, its events and what its agent prints (tab); escape goes back',
  'a, d       allow or deny the call that waits; you see the whole call, and confirm with y',
  'c          cancel the run; confirm with y. Its work is kept',
  's, r       sort by the next column; reverse the order',
  '/          show only runs with a text in their id, task, runtime, agent, session, state or tool',
  'e          hide or show runs that have ended',
  'q, ctrl-c  quit; runs go on. ctrl-l paints the screen again',
  '',
  'CPU is a share of one core and MEMORY that of all processes of a run, both by its last heartbeat (every 10 s).',
  'A cost that is not known is shown as unknown.',
  '',
  'Any key goes back.',
];
