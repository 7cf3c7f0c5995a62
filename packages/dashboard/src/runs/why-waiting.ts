import type { ListedRun } from '../api/answers.ts';
import { firstLine, formatAgo } from '../ui/format.ts';

/** What a run does or waits for, in one line; empty for one that has ended well. */
export function describeState(run: ListedRun, nowMs: number): string {
  if (run.waitsFor !== undefined) return `${run.waitsFor.kind}: ${firstLine(run.waitsFor.text, 120)}`;
  if (run.status === 'queued')
    return run.position === undefined ? 'is prepared' : `place ${run.position} in the queue`;
  if (run.live === undefined) return describeEnd(run);
  const { stall, note, tool, phase, since, isAlone } = run.live;
  if (isAlone === true) return 'its daemon is gone; it goes on alone';
  if (note !== undefined) return firstLine(note, 160);
  if (stall !== undefined) return `${stall.reason.replaceAll('-', ' ')}: ${firstLine(stall.detail, 120)}`;
  if (tool !== undefined) return `${tool.name}: ${firstLine(tool.what, 120)}`;
  return `${phase}, since ${formatAgo(since, nowMs).replace(' ago', '')}`;
}

function describeEnd({ failure, checkPassed }: ListedRun): string {
  if (failure !== undefined) return firstLine(failure.detail, 160);
  return checkPassed === false ? 'its check failed' : '';
}
