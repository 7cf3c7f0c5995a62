import type { BudgetStanding, ListedRun, SpendRow } from '../api/answers.ts';
import { useApp } from '../live/app-context.ts';
import { useAnswer, type Answer } from '../live/use-answer.ts';

const HOUR_MS = 3_600_000;
/** All of it is read again: not with every run that ends. */
const AGAIN_MS = 1000;

export interface Costs {
  readonly spend: readonly SpendRow[];
  /** Older runs are not in `spend`: there are too many. */
  readonly isCut: boolean;
  readonly budget: readonly BudgetStanding[];
  /** Accepted in the last hour. */
  readonly recent: readonly ListedRun[];
}

export function useCosts(session: string): Answer<Costs> {
  const { client } = useApp();
  const load = async (signal: AbortSignal): Promise<Costs> => {
    const since = new Date(Date.now() - HOUR_MS).toISOString();
    const [spend, budget, recent] = await Promise.all([
      client.list<SpendRow>('/v1/spend', { session, newestFirst: true }, signal),
      client.get<BudgetStanding[]>('/v1/budget', { session }, signal),
      client.list<ListedRun>('/v1/runs', { since, session, newestFirst: true, limit: 500 }, signal),
    ]);
    return { spend: spend.rows, isCut: spend.isMore, budget, recent: recent.rows };
  };
  const concerns = ({ type }: { type: string }) => /^(dispatch\.|attempt\.ended)/.test(type);
  return useAnswer(`costs:${session}`, load, concerns, AGAIN_MS);
}
