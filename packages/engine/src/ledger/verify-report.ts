export interface VerifyReport {
  readonly ok: boolean;
  readonly runId: string | null;
  readonly count: number;
  readonly head: string;
  readonly isEnded: boolean;
  readonly problems: readonly string[];
}

export interface VerifyAllReport {
  readonly ok: boolean;
  readonly events: number;
  readonly runs: number;
  readonly problems: readonly string[];
  /** The events are sound, and only rows that were derived from them are wrong: `rebuildProjections` fixes that. */
  readonly isRebuildable: boolean;
}
