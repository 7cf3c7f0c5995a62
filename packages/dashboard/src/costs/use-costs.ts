import type { BudgetStanding, ListedRun, SpendRow } from '../api/answers.ts';
import { useApp } from '../live/app-context.ts';
import { useAnswer, type Answer } from '../live/use-answer.ts';

const HOUR_MS = 3_600_000;

export interface Costs {
  readonly spend: readonly SpendRow[];
  readonly budget: readonly BudgetStanding[];
  /** Accepted in the last hour. */
  readonly recent: readonly ListedRun[];
}

export function useCosts(session: string): Answer<Costs> {
  const { client } = useApp();
  const load = async (signal: AbortSignal): Promise<Costs> => {
    const since = new Date(Date.now() - HOUR_MS).toISOString();
    const [spend, budget, recent] = await Promise.all([
      client.get<SpendRow[]>('/v1/spend', { session }, signal),
      client.get<BudgetStanding[]>('/v1/budget', { session }, signal),
      client.get<ListedRun[]>('/v1/runs', { since, session, newestFirst: true, limit: 500 }, signal),
    ]);
    return { spend, budget, recent };
  };
  return useAnswer(`costs:${session}`, load, ({ type }) => /^(dispatch\.|attempt\.ended)/.test(type));
}
