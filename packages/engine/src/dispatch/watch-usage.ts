import type { Usage, WorkerLine } from '@caisson/protocol';
import type { AdmittedRun } from './contract.ts';
import type { DispatchRooms } from './rooms.ts';
import { countUsage, findEarlierUse } from './count-usage.ts';
import type { PreparedAttempt } from './prepare.ts';

type Progress = Extract<WorkerLine, { kind: 'progress' }>;

export interface UsageWatch {
  hear(line: Progress): void;
  /** What was used, by all that was heard; `told` is what the result says. */
  count(told?: Usage): Usage | undefined;
}

/** Caps hold while a run is running (B2): looks at what the agent tells and at what the model's answers say. */
export function watchUsage(
  rooms: DispatchRooms,
  run: AdmittedRun,
  prepared: PreparedAttempt,
  onPassed: (detail: string) => void,
): UsageWatch {
  const earlier = prepared.attempt === 1 ? undefined : findEarlierUse(rooms, run.runId);
  const passing = prepared.network?.usage ?? null;
  let lastTold: Usage | undefined;
  let turns = 0;
  let toolCalls = 0;
  let enforced = '';

  const count = (told = lastTold): Usage | undefined => {
    const tellsOnce = run.runtime.descriptor.tellsUsageOnce === true;
    const sources = { told, turns, toolCalls, seen: passing?.read() ?? null, tellsOnce };
    return countUsage(sources, rooms.budget.cost);
  };
  const enforce = (): void => {
    const usage = count() ?? { ...NO_TOKENS, turns, toolCalls };
    const text = JSON.stringify(usage);
    if (text === enforced) return;
    enforced = text;
    const passed = rooms.budget.follow(run.runId, usage, earlier);
    if (passed !== null) onPassed(passed.detail);
  };
  if (passing !== null) passing.onChange = enforce;
  return {
    count,
    hear(line) {
      lastTold = usageOf(line, run) ?? lastTold;
      turns = Math.max(turns, line.turns ?? 0);
      toolCalls = Math.max(toolCalls, line.toolCalls ?? 0);
      enforce();
    },
  };
}

const NO_TOKENS = { models: [], inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };

function usageOf(line: Progress, run: AdmittedRun): Usage | undefined {
  if (line.tokensIn === undefined) return undefined;
  return {
    models: line.model === undefined ? (run.model === '' ? [] : [run.model]) : [line.model],
    inputTokens: line.tokensIn,
    outputTokens: line.tokensOut ?? 0,
    cacheReadTokens: line.cacheReadTokens ?? 0,
    cacheWriteTokens: line.cacheWriteTokens ?? 0,
    ...(line.costUsd === undefined ? {} : { costUsd: line.costUsd }),
    turns: line.turns ?? 0,
    toolCalls: line.toolCalls ?? 0,
  };
}
