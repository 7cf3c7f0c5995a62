import { useCallback, useMemo, useState } from 'react';
import { navigate, useQueryParams } from '../router/location.ts';
import { runPath } from '../router/route.ts';
import { showControls } from '../ui/agent-text.tsx';
import { plural } from '../ui/format.ts';
import { useKeys } from '../ui/keys.ts';
import { EmptyState, Loading, Notice, ProblemNotice } from '../ui/notices.tsx';
import { useNow } from '../ui/use-now.ts';
import { VirtualRows } from '../ui/virtual-rows.tsx';
import { BulkBar } from './bulk-bar.tsx';
import { toRows, type RunsRow } from './run-list.ts';
import type { PagerState, RunPager } from './run-pager.ts';
import { RunRow, RunRowHead } from './run-row.tsx';
import { RunsFilters } from './runs-filters.tsx';
import { describeUnknown, isFiltered, parseFilter, type RunsFilter } from './runs-filter.ts';
import { useMarks, type Marks } from './use-marks.ts';
import { useRuns } from './use-runs.ts';

const ROW_PX = 52;
/** So many rows before the end the next page is asked for. */
const AHEAD = 40;

export function RunsPage() {
  const [params, change] = useQueryParams();
  const filter = parseFilter(params);
  const isGrouped = params.get('group') === 'session';
  const pager = useRuns(filter);
  const { runs, isWhole, problem } = pager.state;
  const rows = useMemo(() => toRows(runs, isGrouped), [runs, isGrouped]);
  const marks = useMarks();
  const marked = useMemo(() => runs.filter(({ runId }) => marks.ids.has(runId)), [runs, marks.ids]);
  return (
    <div className="page">
      <div className="spread">
        <h1>Runs</h1>
        <span className="faint" role="status">
          {describeLoaded(pager.state, filter)}
        </span>
      </div>
      <RunsFilters filter={filter} isGrouped={isGrouped} change={change} />
      {describeUnknown(params).map((words) => (
        <Notice key={words} tone="wait">
          {showControls(words)}
        </Notice>
      ))}
      <BulkBar marked={marked} onDone={marks.clear} />
      <ProblemNotice problem={problem} />
      {runs.length === 0 && !isWhole && problem === null ? <Loading what="the runs" /> : null}
      {runs.length === 0 && isWhole ? <NoRuns isFiltered={isFiltered(filter)} /> : null}
      {runs.length === 0 ? null : <RunsTable rows={rows} isGrouped={isGrouped} pager={pager} marks={marks} />}
    </div>
  );
}

function describeLoaded({ runs, isWhole, isFull }: PagerState, { order }: RunsFilter): string {
  if (isWhole) return plural(runs.length, 'run');
  const count = runs.length.toLocaleString('en-US');
  if (!isFull) return `${count} loaded; more as you scroll`;
  const other = order === 'newest' ? 'oldest' : 'newest';
  return `The ${order} ${count}. For others narrow the list, or show the ${other} first`;
}

interface TableProps {
  readonly rows: readonly RunsRow[];
  readonly isGrouped: boolean;
  readonly pager: RunPager;
  readonly marks: Marks;
}

function RunsTable({ rows, isGrouped, pager, marks }: TableProps) {
  const now = useNow();
  const [chosen, choose] = useChosenRow(rows);
  useRunsKeys(rows, chosen, choose, marks);
  const { length } = rows;
  const reach = useCallback(
    (last: number) => {
      if (last >= length - AHEAD) void pager.loadMore();
    },
    [length, pager],
  );
  const renderRow = (index: number) => {
    const row = rows[index];
    if (row === undefined) return null;
    if (row.kind === 'session') return <SessionRow key={`s:${row.session}`} {...row} />;
    const { runId } = row.run;
    const isMarked = marks.ids.has(runId);
    const props = { run: row.run, index, isMarked, nowMs: now, isChosen: index === chosen };
    return <RunRow key={runId} {...props} onMark={() => marks.toggle(runId)} />;
  };
  return (
    <VirtualRows
      count={length}
      rowPx={ROW_PX}
      label="Runs"
      role="table"
      className="runs-table"
      header={<RunRowHead />}
      shown={chosen}
      onTop={isGrouped ? 0 : pager.state.onTop}
      onReach={reach}
      renderRow={renderRow}
    />
  );
}

/** The row of the chosen run: it stays that run when others come on top. */
function useChosenRow(rows: readonly RunsRow[]): [number | null, (index: number) => void] {
  const [key, setKey] = useState<string | null>(null);
  const index = useMemo(() => (key === null ? -1 : rows.findIndex((row) => keyOf(row) === key)), [rows, key]);
  const choose = (wanted: number) => {
    const row = rows[wanted];
    setKey(row === undefined ? null : keyOf(row));
  };
  return [index === -1 ? null : index, choose];
}

function keyOf(row: RunsRow): string {
  return row.kind === 'run' ? row.run.runId : `session:${row.session}`;
}

function SessionRow({ session, count }: { session: string; count: number }) {
  return (
    <div className="run-row session-row" role="row">
      <strong role="cell" className="cut">
        {session === '' ? 'Without a session' : session} · {plural(count, 'run')}
      </strong>
    </div>
  );
}

function NoRuns({ isFiltered: isNarrow }: { isFiltered: boolean }) {
  if (isNarrow)
    return <EmptyState title="No run fits these filters">{<p>Clear a filter to see more.</p>}</EmptyState>;
  return (
    <EmptyState title="There is no run yet">
      <p>A run is one task, carried out by one agent in its own sandbox. Start one in a terminal:</p>
      <pre className="command">caisson run "Fix the failing test in src/"</pre>
    </EmptyState>
  );
}

function useRunsKeys(
  rows: readonly RunsRow[],
  chosen: number | null,
  choose: (index: number) => void,
  marks: Marks,
): void {
  useKeys((key, event) => {
    if (key === '/') document.querySelector<HTMLInputElement>('#search')?.focus();
    if (key === 'j') choose(Math.min(rows.length - 1, (chosen ?? -1) + 1));
    if (key === 'k') choose(Math.max(0, (chosen ?? 1) - 1));
    if (key === '/' || key === 'j' || key === 'k') return true;
    const row = chosen === null ? undefined : rows[chosen];
    if (row?.kind !== 'run') return false;
    if (key === 'x') marks.toggle(row.run.runId);
    else if (key === 'o' || (key === 'Enter' && !isControl(event.target))) navigate(runPath(row.run.runId));
    else return false;
    return true;
  });
}

function isControl(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest('a, button, input') !== null;
}
