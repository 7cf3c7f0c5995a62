import type { BudgetStanding, ListedRun, SpendRow } from '../api/answers.ts';
import type { Client } from '../api/client.ts';
import { useApp } from '../live/app-context.ts';
import { useAnswer, type Answer } from '../live/use-answer.ts';

const HOUR_MS = 3_600_000;
const ASKED_AT_ONCE = 200;
const MAX_NAMED = 2000;

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
    return { spend: await nameAgents(client, spend, signal), budget, recent };
  };
  return useAnswer(`costs:${session}`, load, ({ type }) => /^(dispatch\.|attempt\.ended)/.test(type));
}

/** The agent of a run is in the list of runs; the newest ones are looked up. */
async function nameAgents(
  client: Client,
  rows: readonly SpendRow[],
  signal: AbortSignal,
): Promise<SpendRow[]> {
  const unnamed = rows.filter(({ agent }) => agent === undefined).slice(-MAX_NAMED);
  const names = new Map<string, string>();
  for (let from = 0; from < unnamed.length; from += ASKED_AT_ONCE) {
    const ids = unnamed.slice(from, from + ASKED_AT_ONCE).map(({ runId }) => runId);
    const runs = await client.get<ListedRun[]>(
      '/v1/runs',
      { ids: ids.join(','), limit: ASKED_AT_ONCE },
      signal,
    );
    for (const { runId, agent, runtime } of runs) names.set(runId, agent ?? runtime ?? 'unknown');
  }
  return rows.map((row) => ({ ...row, agent: row.agent ?? names.get(row.runId) ?? 'unknown' }));
}
