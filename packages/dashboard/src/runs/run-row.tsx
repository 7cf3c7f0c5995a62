import type { ListedRun } from '../api/answers.ts';
import { Link } from '../router/link.tsx';
import { runPath } from '../router/route.ts';
import { showControls } from '../ui/agent-text.tsx';
import { firstLine, formatAgo, formatMs, formatRunCost, formatTime } from '../ui/format.ts';
import { StatusBadge } from '../ui/status-badge.tsx';
import { describeState } from './why-waiting.ts';

interface RunRowProps {
  readonly run: ListedRun;
  readonly index: number;
  readonly isChosen: boolean;
  readonly isMarked: boolean;
  readonly nowMs: number;
  onMark(): void;
}

export function RunRow({ run, index, isChosen, isMarked, nowMs, onMark }: RunRowProps) {
  const what = showControls(firstLine(run.description));
  const state = showControls(describeState(run, nowMs));
  return (
    <div
      className="run-row"
      role="row"
      aria-rowindex={index + 2}
      aria-selected={isMarked}
      data-chosen={isChosen}
    >
      <span role="cell">
        <input
          type="checkbox"
          checked={isMarked}
          onChange={onMark}
          aria-label={`Mark the run ${what.slice(0, 60)}`}
        />
      </span>
      <span role="cell">
        <StatusBadge status={run.status} isHeld={run.waitsFor !== undefined} />
      </span>
      <span role="cell" className="run-what">
        <Link className="cut" to={runPath(run.runId)} title={what}>
          {what === '' ? run.runId : what}
        </Link>
        <span className="cut small faint" title={state}>
          {state}
        </span>
      </span>
      <span role="cell" className="cut wide">
        {run.agent ?? run.runtime ?? ''}
      </span>
      <span role="cell" className="cut wide">
        {run.session ?? ''}
      </span>
      <span role="cell" className="wide" title={formatTime(run.acceptedAt)}>
        {formatAgo(run.acceptedAt, nowMs)}
      </span>
      <span role="cell" className="number wide">
        {durationOf(run, nowMs)}
      </span>
      <span role="cell" className="number">
        {formatRunCost(run, '')}
      </span>
    </div>
  );
}

export function RunRowHead() {
  return (
    <div className="run-row run-head" role="row" aria-rowindex={1}>
      {['', 'Status', 'Task', 'Agent', 'Session', 'Started', 'Took', 'Cost'].map((title, index) => (
        <span
          key={title}
          role="columnheader"
          className={`${index > 2 && index < 7 ? 'wide' : ''} ${index > 5 ? 'number' : ''}`}
        >
          {title === '' ? <span className="visually-hidden">Mark</span> : title}
        </span>
      ))}
    </div>
  );
}

function durationOf({ durationMs, startedAt, endedAt }: ListedRun, nowMs: number): string {
  if (durationMs !== undefined) return formatMs(durationMs);
  return startedAt === undefined || endedAt !== undefined
    ? ''
    : formatMs(Math.max(0, nowMs - Date.parse(startedAt)));
}
