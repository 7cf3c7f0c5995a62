/** Spending, added up. What is unknown stays unknown: it is counted, and never 0. */
import type { SpendRow } from '../api/answers.ts';
import { formatUsd, usesModel } from '../ui/format.ts';

export interface SpendSum {
  readonly name: string;
  /** Null where nothing is known. */
  readonly costUsd: number | null;
  /** Of runs that ask a model. */
  readonly unknownCosts: number;
  readonly isEstimate: boolean;
  readonly tokens: number;
  readonly runs: number;
}

export function groupSpend(rows: readonly SpendRow[], nameOf: (row: SpendRow) => string): SpendSum[] {
  return [...Map.groupBy(rows, nameOf)].map(([name, members]) => sumSpend(name, members));
}

export function sumSpend(name: string, rows: readonly SpendRow[]): SpendSum {
  const known = rows.flatMap(({ costUsd }) => costUsd ?? []);
  return {
    name,
    costUsd: known.length === 0 ? null : known.reduce((sum, cost) => sum + cost, 0),
    unknownCosts: rows.filter(usesModel).reduce((sum, row) => sum + row.unknownCosts, 0),
    isEstimate: rows.some(({ estimatedCosts = 0 }) => estimatedCosts > 0),
    tokens: rows.reduce((sum, row) => sum + row.tokens, 0),
    runs: rows.length,
  };
}

/** The dearest first; what is unknown last. */
export function byCost(a: SpendSum, b: SpendSum): number {
  return (b.costUsd ?? -1) - (a.costUsd ?? -1) || b.tokens - a.tokens;
}

/** Nothing was spent where no model was asked; that is not unknown. */
export function formatSum({ costUsd, unknownCosts, isEstimate }: SpendSum): string {
  return costUsd === null && unknownCosts === 0 ? 'none' : formatUsd(costUsd, isEstimate);
}

/** A run with several models is a row of its own: its cost cannot be divided. */
export function modelsOf(row: SpendRow): string {
  if (row.models !== undefined && row.models.length > 0) return row.models.join(' + ');
  return usesModel(row) ? 'unknown' : 'no model';
}

/** The last days to today, at least two weeks, without a gap: a day without a run has its place too. */
export function fillDays(days: readonly SpendSum[], nowMs: number): SpendSum[] {
  const known = new Map(days.map((day) => [day.name, day]));
  const first = days[0]?.name ?? '';
  const filled: SpendSum[] = [];
  for (let back = 0; back < MAX_DAYS; back += 1) {
    const name = new Date(nowMs - back * DAY_MS).toISOString().slice(0, 10);
    if (back >= MIN_DAYS && name < first) break;
    filled.unshift(known.get(name) ?? { ...sumSpend(name, []), costUsd: 0 });
  }
  return filled;
}

const DAY_MS = 86_400_000;
const MIN_DAYS = 14;
const MAX_DAYS = 60;

/** The declared agent; where none is, the runtime. */
export function agentOf({ agent, runtime }: SpendRow): string {
  return agent ?? runtime ?? 'unknown';
}
