/** What a run has cost. `costUsd` and `usage` on an ending are of that attempt alone. */
export interface SpendRow {
  readonly runId: string;
  readonly session: string | null;
  /** UTC day of the latest ending that counted. */
  readonly day: string;
  /** Sum of what is known; `null` when nothing is. Unknown is never 0. */
  readonly costUsd: number | null;
  /** Endings that did not report their cost. */
  readonly unknownCosts: number;
  /** Endings whose usage is an estimate in part; absent for none. */
  readonly estimatedCosts?: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Input plus output. */
  readonly tokens: number;
  /** Read from and written to the model's cache. Absent, like the two below, in rows of older versions. */
  readonly cacheTokens?: number;
  readonly turns?: number;
  readonly toolCalls?: number;
  /** Who worked: the declared agent, and the runtime. Absent where the acceptance does not say. */
  readonly agent?: string;
  readonly runtime?: string;
  /** Every model that answered, sorted; absent for none. What each of them cost is not known. */
  readonly models?: readonly string[];
}
