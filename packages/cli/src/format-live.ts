/** What a run under way does now, for people. */
import type { ListedRun } from '@caisson/engine';
import type { DispatchResult, LiveRun, WaitsFor } from '@caisson/protocol';
import { firstLine } from './format-remark.ts';
import { cutToWidth, formatBytes, formatCost, formatDuration } from './format-values.ts';
import type { Line } from './painted.ts';
import { labelled } from './format-ending.ts';

const MAX_TOOL_COLUMNS = 16;

/** A few words behind the status of a list; nothing where the status says all. */
export function formatDoing({ status, live, waitsFor }: ListedRun, now: number): string {
  if (waitsFor !== undefined) return ''; // the status says it
  if (status !== 'running' || live === undefined) return '';
  const { tool, stall, health } = live;
  const word =
    tool === undefined
      ? live.phase
      : `${cutToWidth(firstLine(tool.name), MAX_TOOL_COLUMNS)} ${formatDuration(now - Date.parse(tool.since))}`;
  const trouble = stall === undefined ? (isWell(health) ? '' : `, ${health}`) : `, ${stall.reason}`;
  return `, ${word}${trouble}`;
}

/** The same in lines, for one run. */
export function describeLive(
  { live, waitsFor, runId }: Pick<DispatchResult, 'live' | 'waitsFor' | 'runId'>,
  now: number,
): Line[] {
  if (live === undefined) return [];
  const { phase, since, attempt, tool, stall, health, note, source } = live;
  const ago = (at: string): string => formatDuration(Math.max(0, now - Date.parse(at)));
  const others = tool === undefined || tool.others === 0 ? '' : ` (and ${tool.others} more)`;
  return [
    `${phase} for ${ago(since)}${attempt > 1 ? `, attempt ${attempt}` : ''}`,
    ...(note === undefined ? [] : labelled('it cannot be settled yet', note)),
    ...(tool === undefined ? [] : labelled(tool.name, `${tool.what}, for ${ago(tool.since)}${others}`)),
    ...describeCounts(live),
    ...(isWell(health) ? [] : [`health: ${health}`]),
    ...(stall === undefined
      ? []
      : labelled('no progress', `${stall.reason} for ${ago(stall.since)}: ${stall.detail}`)),
    ...describeWaiting(runId, waitsFor),
    ...(source === 'ledger' ? [describeSilence(live)] : []),
  ];
}

function describeSilence({ isAlone }: LiveRun): string {
  return isAlone
    ? 'its daemon is gone, and the agent goes on for a while: caisson up -d adopts it'
    : 'its host did not answer in time: this is what is recorded';
}

function describeCounts({ turns, toolCalls, tokens, costUsd, cpuPercent, memoryBytes }: LiveRun): string[] {
  const counted = (count: number, one: string, many: string): string[] =>
    count === 0 ? [] : [`${count} ${count === 1 ? one : many}`];
  const parts = [
    ...counted(turns, 'turn', 'turns'),
    ...counted(toolCalls, 'tool call', 'tool calls'),
    ...counted(tokens, 'token', 'tokens'),
    ...(tokens === 0 ? [] : [formatCost(costUsd)]),
  ];
  const use = [
    ...(cpuPercent === undefined ? [] : [`${cpuPercent} % of a core`]),
    ...(memoryBytes === undefined ? [] : [formatBytes(memoryBytes)]),
  ];
  return [
    ...(parts.length === 0 ? [] : [`so far: ${parts.join(', ')}`]),
    ...(use.length === 0 ? [] : [`uses: ${use.join(', ')}`]),
  ];
}

function describeWaiting(runId: string, waitsFor: WaitsFor | undefined): Line[] {
  if (waitsFor === undefined) return [];
  const { kind, id, text } = waitsFor;
  const commands =
    kind === 'approval' ? [`caisson approve ${id}`, `caisson deny ${id}`] : [`caisson answer ${runId} "…"`];
  return [
    ...labelled(`waits for ${kind === 'approval' ? 'approval' : 'an answer'}`, text),
    ...commands.map((command) => `  ${command}`),
  ];
}

export function isWell(health: LiveRun['health']): boolean {
  return health === 'healthy' || health === 'recovered';
}
