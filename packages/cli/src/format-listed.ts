/** What a list says of a run, whether it has ended or not. */
import type { ListedRun } from '@caisson/engine';
import { cutToWidth, formatCost, formatDuration } from './format-values.ts';

const MAX_TASK_COLUMNS = 120;

/** A run that has not ended: how long ago it was accepted. */
export function formatTimeSoFar({ durationMs, acceptedAt, status }: ListedRun, now: number): string {
  if (durationMs !== undefined) return formatDuration(durationMs);
  return status === 'queued' || status === 'running'
    ? `${formatDuration(now - Date.parse(acceptedAt))} …`
    : '-';
}

/** A run under way: what it has cost so far. */
export function formatCostSoFar({ costUsd, costIsEstimate, live }: ListedRun): string {
  if (costUsd !== undefined) return formatCost(costUsd, costIsEstimate);
  return live?.costUsd === undefined || live.costUsd === 0 ? '-' : `${formatCost(live.costUsd)} …`;
}

export function oneLine(text: string): string {
  return cutToWidth(text.slice(0, 1000).replaceAll(/\s+/g, ' ').trim(), MAX_TASK_COLUMNS);
}
