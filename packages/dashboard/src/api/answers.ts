/** What the host answers, as the library's contract has it. What `@caisson/protocol` describes is taken from there. */
import type { Failure, ListedRisk, LiveRun, RunStatus, WaitsFor } from '@caisson/protocol';

export interface ListedRun {
  readonly runId: string;
  readonly status: RunStatus;
  readonly priority: number;
  readonly acceptedOffset: number;
  readonly acceptedAt: string;
  readonly startedAt?: string;
  readonly endedAt?: string;
  readonly attempt: number;
  readonly lastSeq: number;
  readonly session?: string;
  readonly continues?: string;
  readonly continuedBy?: string;
  readonly description: string;
  readonly runtime?: string;
  readonly agent?: string;
  readonly durationMs?: number;
  readonly failure?: Failure;
  readonly costUsd?: number;
  readonly costIsEstimate?: true;
  readonly appliedAt?: string;
  readonly forgottenAt?: string;
  readonly position?: number;
  readonly checkPassed?: boolean;
  /** Whether it left work to take; absent until it is done. */
  readonly hasWork?: boolean;
  readonly live?: LiveRun;
  readonly waitsFor?: WaitsFor;
}

export interface Approval {
  readonly approvalId: string;
  readonly runId: string;
  readonly tool: string;
  readonly what: string;
  readonly actionClass: string;
  readonly requestedAt: string;
  readonly deadlineAt: string;
  readonly status: 'open' | 'allowed' | 'denied';
}

/** `costUsd` is null where nothing is known: unknown is never 0. */
export interface SpendRow {
  readonly runId: string;
  readonly session: string | null;
  readonly day: string;
  readonly costUsd: number | null;
  readonly unknownCosts: number;
  readonly estimatedCosts?: number;
  readonly tokens: number;
  readonly cacheTokens?: number;
  readonly agent?: string;
  readonly runtime?: string;
  readonly models?: readonly string[];
}

export type Counted = 'tokens' | 'turns' | 'toolCalls';

export interface BudgetStanding {
  readonly scope: 'session' | 'day';
  readonly scopeId: string;
  readonly spentUsd: number;
  readonly reservedUsd: number;
  readonly ceilingUsd: number | null;
  readonly countCaps?: Partial<Record<Counted, number>>;
  readonly countsUsed?: Partial<Record<Counted, number>>;
  readonly unknownCosts: number;
  readonly estimatedCosts: number;
  readonly runCount: number;
  readonly tokensIn: number;
  readonly tokensOut: number;
}

export type ApplyResult =
  | { readonly kind: 'applied'; readonly files: readonly string[]; readonly already?: 'in-place' | 'there' }
  | { readonly kind: 'conflicts'; readonly files: readonly string[]; readonly areMarkersLeft: boolean }
  | { readonly kind: 'dirty' | 'outside-scope' | 'check-failed'; readonly files: readonly string[] }
  | { readonly kind: 'other-repository'; readonly files: readonly string[]; readonly remote: string }
  | {
      readonly kind: 'risky';
      readonly files: readonly string[];
      readonly risks: readonly ListedRisk[];
      readonly isRefused: boolean;
    };

export interface ApplyChoice {
  readonly only?: readonly { readonly path: string; readonly hunks?: readonly number[] }[];
  readonly leaveConflicts?: boolean;
  readonly force?: boolean;
  readonly allowRisky?: boolean;
  readonly allowOutsideScope?: boolean;
  readonly evenIfCheckFailed?: boolean;
  /** The files here are meant, although the run worked on another repository. */
  readonly here?: boolean;
}

export interface Verification {
  readonly runId: string | null;
  readonly keyId: string | null;
  readonly checks: readonly {
    readonly id: string;
    readonly verdict: 'ok' | 'failed' | 'missing' | 'not-applicable';
    readonly detail: string;
  }[];
  readonly outcome: 'ok' | 'tampered' | 'unsealed' | 'incomplete' | 'bad-signature' | 'no-key';
}

export interface ProjectUsage {
  readonly stateDir: string;
  readonly bytes: number;
  readonly parts: readonly {
    readonly name: string;
    readonly bytes: number;
    readonly what: string;
    readonly frees: string | null;
  }[];
}

export interface Probe {
  readonly id: string;
  readonly verdict: 'ok' | 'warn' | 'fail';
  readonly detail: string;
  readonly remedy?: string;
  readonly repair?: string;
  readonly outcome?: string;
  readonly findings?: readonly string[];
}

export interface DoctorReport {
  readonly verdict: Probe['verdict'];
  readonly probes: readonly Probe[];
}
