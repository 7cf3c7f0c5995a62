/**
 * The usage of an attempt: what the model's answers reported as they passed the broker, and an estimate of the rest. If
 * there is an estimate, the agent's own figure may be higher, and then counts. Agents report at their end, or for a
 * part of their requests, or with other rules; an agent that was stopped reports nothing.
 */
import { definedOnly, type ObservedUsage, type Usage } from '@caisson/protocol';
import type { Budget, EarlierUse } from '../budget/index.ts';
import type { DispatchRooms } from '../admission/index.ts';
import { findAccepted } from '../ledger/index.ts';
import type { LeftCounts } from './worker-lines.ts';

export interface UsageSources {
  /** The agent's own figure; undefined while there is none. */
  readonly reported: Usage | undefined;
  readonly turns: number;
  readonly toolCalls: number;
  /** Null if the answers do not pass through us. */
  readonly seen: ObservedUsage | null;
  /** The agent reports its turns once, at the end, so the answers are counted instead. */
  readonly reportsOnce: boolean;
}

/** Undefined when a model may have answered without a report of its usage: unknown is never 0. */
export function countUsage(sources: UsageSources, cost: Budget['cost']): Usage | undefined {
  const { reported, seen, reportsOnce } = sources;
  const counts = {
    turns: reportsOnce
      ? Math.max(seen?.answers ?? 0, sources.turns)
      : Math.max(sources.turns, reported?.turns ?? 0),
    toolCalls: seen?.toolCalls ?? Math.max(sources.toolCalls, reported?.toolCalls ?? 0),
    ...(seen === null ? {} : { durationMs: seen.modelMs }),
  };
  if (seen === null) return reported === undefined ? undefined : withoutFalseZero({ ...reported, ...counts });
  const mark = seen.estimated.answers === 0 ? {} : { estimated: seen.estimated };
  const observed = toUsage(seen, cost);
  if (tokensOf(reported) + tokensOf(observed) === 0 && seen.underWay > 0) return undefined;
  if (reported !== undefined && !seen.isWhole && tokensOf(reported) >= tokensOf(observed))
    return withoutFalseZero({ ...reported, ...mark, ...counts });
  const costUsd = costFrom(reported, observed);
  return withoutFalseZero({
    ...observed,
    ...mark,
    ...definedOnly({ costUsd }),
    ...counts,
  });
}

/** What a worker saw that cannot report more: what was under way is charged by its estimate. */
export function withPending(seen: ObservedUsage): ObservedUsage {
  const { pending, estimated } = seen;
  const total = (key: 'inputTokens' | 'outputTokens'): number =>
    pending.reduce((sum, counts) => sum + counts[key], estimated[key]);
  return {
    ...seen,
    byModel: pending.reduce(addToModel, seen.byModel),
    estimated: {
      answers: estimated.answers + pending.length,
      inputTokens: total('inputTokens'),
      outputTokens: total('outputTokens'),
    },
    pending: [],
  };
}

type ByModel = ObservedUsage['byModel'];

function addToModel(
  byModel: ByModel,
  { model, inputTokens, outputTokens }: ObservedUsage['pending'][number],
): ByModel {
  const known = byModel.find((counts) => counts.model === model);
  if (known === undefined)
    return [...byModel, { model, inputTokens, outputTokens, cacheReadTokens: 0, cacheWriteTokens: 0 }];
  const more = {
    ...known,
    inputTokens: known.inputTokens + inputTokens,
    outputTokens: known.outputTokens + outputTokens,
  };
  return byModel.map((counts) => (counts === known ? more : counts));
}

/** A program that reports its cost knows more than a price table, unless it reports only a part of it. */
function costFrom(reported: Usage | undefined, observed: Usage): number | undefined {
  if (reported?.costUsd === undefined) return observed.costUsd;
  if (tokensOf(reported) >= tokensOf(observed)) return reported.costUsd;
  return Math.max(reported.costUsd, observed.costUsd ?? 0);
}

/** A program that reports 0 for used tokens does not know their price, and unknown is never 0. */
function withoutFalseZero(usage: Usage): Usage {
  if (usage.costUsd !== 0 || tokensOf(usage) === 0) return usage;
  const { costUsd: _costUsd, ...known } = usage;
  return known;
}

/**
 * The usage of an attempt whose host died: by the lines of its worker and its result. Without a result it is no less than what
 * the host had recorded because of a cap.
 */
export function countLeftUsage(
  rooms: Pick<DispatchRooms, 'budget' | 'ledger'>,
  runId: string,
  { seen, turns, toolCalls, reported: said }: LeftCounts,
  result: Usage | undefined,
): Usage | undefined {
  const { budget } = rooms;
  const reported = result ?? larger(said, budget.lastUsage(runId, findEarlierUse(rooms, runId)));
  if (seen === null) return atLeast(reported);
  // One that has reported no turn by then would have done so at its end.
  const reportsOnce = turns === 0;
  const sources = { reported, turns, toolCalls, seen: withPending(seen), reportsOnce };
  return atLeast(countUsage(sources, budget.cost));
}

/** A figure that came late may be of a part only. */
function larger(said: Usage | undefined, recorded: Usage | undefined): Usage | undefined {
  return said !== undefined && tokensOf(said) >= tokensOf(recorded) ? said : recorded;
}

/** The model that was asked for; empty if none was. */
export function requestedModel({ ledger }: Pick<DispatchRooms, 'ledger'>, runId: string): string {
  return findAccepted(ledger, runId)?.data.resolved.model.requested ?? '';
}

/** An answer may have been under way, so no tokens are unknown tokens. */
function atLeast(usage: Usage | undefined): Usage | undefined {
  return tokensOf(usage) === 0 || usage === undefined ? undefined : withoutFalseZero(usage);
}

/** Caps are the run's, not an attempt's. */
export function findEarlierUse({ ledger }: Pick<DispatchRooms, 'ledger'>, runId: string): EarlierUse {
  const use = { tokens: 0, turns: 0, toolCalls: 0, costUsd: 0 };
  for (const { data } of ledger.read({ runId, types: ['attempt.ended'] })) {
    const { usage, costUsd } = data;
    use.tokens += tokensOf(usage);
    use.turns += usage?.turns ?? 0;
    use.toolCalls += usage?.toolCalls ?? 0;
    use.costUsd += costUsd ?? 0;
  }
  return use;
}

/** Every model at its own price; the sum is unknown when one of them is. */
function toUsage({ byModel }: ObservedUsage, cost: Budget['cost']): Usage {
  const costs = byModel.map(({ model, ...counts }) => cost({ ...counts, models: [model] }, model));
  const isKnown = costs.length > 0 && costs.every((one) => one !== undefined);
  const total = (key: keyof Omit<ObservedUsage['byModel'][number], 'model'>): number =>
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

function tokensOf(usage: Usage | undefined): number {
  if (usage === undefined) return 0;
  return usage.inputTokens + usage.outputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
}
