/**
 * Money and counts.
 * B1  What a run may spend is reserved at admission, across all processes, and settled at its end, failures included:
 *     its own cap, or, where only its session or day has one, a share of what is left.
 * B2  A cap is enforced while the run is running: the first report of usage that passes it stops the run.
 * B3  Unknown cost is reported as unknown; with a money cap it is refused unless the project allows it, also when
 *     only the first answer shows it.
 */
import type { BudgetCaps, Usage } from '@caisson/protocol';

export interface BudgetSettings {
  readonly perSessionUsd: number | null;
  readonly perDayUsd: number | null;
  readonly perSessionTokens?: number | null;
  readonly perDayTokens?: number | null;
  readonly perSessionTurns?: number | null;
  readonly perDayTurns?: number | null;
  readonly perSessionToolCalls?: number | null;
  readonly perDayToolCalls?: number | null;
  readonly allowUnknownCost: boolean;
  /** How many runs may be running at once: a run without its own cap reserves this fraction. */
  readonly shares: number;
}

export interface BudgetRequest {
  readonly runId: string;
  readonly session: string | null;
  readonly caps: BudgetCaps;
  readonly model: string;
  /** Whether the runtime reports its cost. */
  readonly reportsCost: boolean;
  /** Whether the runtime uses a model at all. */
  readonly usesModel: boolean;
  /** The run that dispatched it: its spending counts for that one too. */
  readonly parent?: string;
}

/** What earlier attempts of a run used. */
export interface EarlierUse {
  readonly tokens: number;
  readonly turns: number;
  readonly toolCalls: number;
  /** The known part. */
  readonly costUsd: number;
}

export interface BudgetRefusal {
  readonly kind: 'budget';
  readonly detail: string;
  readonly remedy?: string;
}

/** The state of a scope, as `caisson budget` and the bus report it. */
export interface BudgetStanding {
  readonly scope: 'session' | 'day';
  readonly scopeId: string;
  readonly spentUsd: number;
  readonly reservedUsd: number;
  readonly ceilingUsd: number | null;
  /** Caps beside the one on money; absent where there is none. */
  readonly countCaps?: Partial<Record<'tokens' | 'turns' | 'toolCalls', number>>;
  /** What counts against each of them: of runs that have ended, and of those under way. */
  readonly countsUsed?: Partial<Record<'tokens' | 'turns' | 'toolCalls', number>>;
  /** Endings of runs that use a model, without a known cost. */
  readonly unknownCosts: number;
  /** Runs whose usage is an estimate in part. */
  readonly estimatedCosts: number;
  readonly runCount: number;
  readonly tokensIn: number;
  readonly tokensOut: number;
}

export interface Budget {
  /** Null when the run may start; its money is then reserved. */
  reserve(request: BudgetRequest): BudgetRefusal | null;
  /** The run was admitted by another host: its caps apply here from now on. What was reserved for it stays. */
  resume(run: Pick<BudgetRequest, 'runId' | 'session' | 'caps' | 'model' | 'parent'>): void;
  /**
   * The detail of the first cap that this attempt's usage passes, together with what earlier attempts used; or null. If
   * the served model has no price, that of the requested one decides.
   */
  follow(runId: string, usage: Usage, earlier?: EarlierUse): { detail: string } | null;
  /** What the usage cost; `requestedModel` counts if the runtime does not report which model served it. */
  cost(usage: Usage, requestedModel: string): number | undefined;
  /** What the attempt after `earlier` had used when its host last recorded it; undefined if no model had answered. */
  lastUsage(runId: string, earlier?: EarlierUse): Usage | undefined;
  settle(runId: string, usage: Usage | undefined): void;
  standings(session?: string): readonly BudgetStanding[];
}

/** What a run has cost so far, according to the ledger. */
export interface SpentRow {
  readonly runId: string;
  readonly costUsd: number | null;
  readonly unknownCosts: number;
  readonly estimatedCosts?: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheTokens?: number;
  readonly turns?: number;
  readonly toolCalls?: number;
}

/** The stored records: settled spending, and rows that all processes of the project share. */
export interface Books {
  spend(filter: { session?: string; day?: string }): readonly SpentRow[];
  stateOf(runId: string): 'unknown' | 'open' | 'ended';
  /** Whether a model may have been asked in this run. */
  usesModel(runId: string): boolean;
  nowMs(): number;
  /** Runs `work` as one transaction, alone among all processes. */
  alone<T>(work: () => T): T;
  readonly rows: {
    set(space: string, key: string, value: unknown): void;
    delete(space: string, key: string): boolean;
    list(space: string): readonly { key: string; value: unknown }[];
  };
}

export interface BudgetOptions {
  readonly settings: BudgetSettings;
  readonly books: Books;
  readonly today: () => string;
  onUpdate(standing: BudgetStanding): void;
}
