/** Caps of one run: followed while it runs, so that a loop is stopped and not merely billed. */
import type { BudgetCaps, Usage } from '@caisson/protocol';

export interface BudgetKeeper {
  reserve(request: { runId: string; caps: BudgetCaps }): null;
  follow(runId: string, usage: Usage): { detail: string } | null;
  cost(usage: Usage): number | undefined;
  settle(runId: string, usage: Usage | undefined): void;
}

export function createBudgetKeeper(): BudgetKeeper {
  const caps = new Map<string, BudgetCaps>();
  return {
    reserve(request) {
      caps.set(request.runId, request.caps);
      return null;
    },
    follow: (runId, usage) => findPassedCap(caps.get(runId) ?? {}, usage),
    cost: (usage) => usage.costUsd,
    settle: (runId) => void caps.delete(runId),
  };
}

function findPassedCap(caps: BudgetCaps, usage: Usage): { detail: string } | null {
  const counted: [string, number | undefined, number | undefined][] = [
    [
      'tokens',
      caps.tokens,
      usage.inputTokens + usage.outputTokens + usage.cacheReadTokens + usage.cacheWriteTokens,
    ],
    ['turns', caps.turns, usage.turns],
    ['tool calls', caps.toolCalls, usage.toolCalls],
    ['USD', caps.usd, usage.costUsd],
  ];
  for (const [name, cap, used] of counted) {
    if (cap !== undefined && used !== undefined && used > cap)
      return { detail: `${used} ${name} used, the cap is ${cap}` };
  }
  return null;
}
