/**
 * What an attempt used: what its agent told, or what the model's answers said as they passed, whichever is more. Some
 * agents tell it only at their end, or for a part of their requests; an agent that was stopped tells nothing.
 */
import type { Usage } from '@caisson/protocol';
import type { Budget, EarlierUse } from '../budget/index.ts';
import type { DispatchRooms, SeenUsage } from './contract.ts';

export interface UsageSources {
  /** As the agent told it; undefined while it has not. */
  readonly told: Usage | undefined;
  readonly turns: number;
  readonly toolCalls: number;
  /** Null where the answers do not pass through us. */
  readonly seen: SeenUsage | null;
  /** The agent tells turns and usage once, for all it did (in a resumed session: since that began). */
  readonly tellsOnce: boolean;
}

/** Undefined when a model may have answered and nobody said what that used: unknown is never 0. */
export function countUsage(sources: UsageSources, cost: Budget['cost']): Usage | undefined {
  const { told, seen, tellsOnce } = sources;
  const counts = {
    turns: tellsOnce
      ? Math.max(seen?.answers ?? 0, sources.turns)
      : Math.max(sources.turns, told?.turns ?? 0),
    toolCalls: Math.max(sources.toolCalls, told?.toolCalls ?? 0),
  };
  if (seen === null) return told === undefined ? undefined : { ...told, ...counts };
  const observed = toUsage(seen, cost);
  const isExact = tellsOnce && seen.answers > 0 && seen.unheard === 0;
  if (told !== undefined && !isExact && tokensOf(told) >= tokensOf(observed)) return { ...told, ...counts };
  if (tokensOf(observed) === 0 && seen.unheard > 0) return undefined;
  const costUsd =
    told?.costUsd === undefined ? observed.costUsd : Math.max(told.costUsd, observed.costUsd ?? 0);
  return {
    ...observed,
    ...(costUsd === undefined ? {} : { costUsd }),
    ...(told?.durationMs === undefined ? {} : { durationMs: told.durationMs }),
    ...counts,
  };
}

/** Caps are the run's, not an attempt's. */
export function findEarlierUse({ ledger }: Pick<DispatchRooms, 'ledger'>, runId: string): EarlierUse {
  const use = { tokens: 0, turns: 0, toolCalls: 0, costUsd: 0 };
  for (const { data } of ledger.read({ runId, types: ['attempt.ended'] })) {
    const usage = data['usage'] as Usage | undefined;
    const costUsd = data['costUsd'];
    use.tokens += usage === undefined ? 0 : tokensOf(usage);
    use.turns += usage?.turns ?? 0;
    use.toolCalls += usage?.toolCalls ?? 0;
    use.costUsd += typeof costUsd === 'number' ? costUsd : 0;
  }
  return use;
}

/** Every model at its own price; the sum is unknown when one of them is. */
function toUsage({ byModel }: SeenUsage, cost: Budget['cost']): Usage {
  const costs = byModel.map(({ model, ...counts }) => cost({ ...counts, models: [model] }, model));
  const isKnown = costs.length > 0 && costs.every((one) => one !== undefined);
  const total = (key: keyof Omit<SeenUsage['byModel'][number], 'model'>): number =>
    byModel.reduce((sum, counts) => sum + counts[key], 0);
  return {
    models: byModel.map(({ model }) => model).filter((model) => model !== ''),
    inputTokens: total('inputTokens'),
    outputTokens: total('outputTokens'),
    cacheReadTokens: total('cacheReadTokens'),
    cacheWriteTokens: total('cacheWriteTokens'),
    ...(isKnown ? { costUsd: costs.reduce<number>((sum, one) => sum + (one ?? 0), 0) } : {}),
  };
}

function tokensOf(usage: Usage): number {
  return usage.inputTokens + usage.outputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
}
