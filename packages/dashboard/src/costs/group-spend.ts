/** Spending, added up. What is unknown stays unknown: it is counted, and never 0. */
import type { SpendRow } from '../api/answers.ts';

export interface SpendSum {
  readonly name: string;
  /** Null where nothing is known. */
  readonly costUsd: number | null;
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
    unknownCosts: rows.reduce((sum, row) => sum + row.unknownCosts, 0),
    isEstimate: rows.some(({ estimatedCosts = 0 }) => estimatedCosts > 0),
    tokens: rows.reduce((sum, row) => sum + row.tokens, 0),
    runs: rows.length,
  };
}

/** The dearest first; what is unknown last. */
export function byCost(a: SpendSum, b: SpendSum): number {
  return (b.costUsd ?? -1) - (a.costUsd ?? -1) || b.tokens - a.tokens;
}

/** A run with several models is a row of its own: its cost cannot be divided. */
export function modelsOf({ models }: SpendRow): string {
  return models === undefined || models.length === 0 ? 'unknown' : models.join(' + ');
}

/** The declared agent; where none is, the runtime. */
export function agentOf({ agent, runtime }: SpendRow): string {
  return agent ?? runtime ?? 'unknown';
}
