/** Senses, workflows and schedules after all sources were read: complete, in base units, with absolute paths. */
import type { Mode, ScheduleConfig, WorkflowConfig } from '@caisson/protocol';

/** What the user's code may use. */
export interface ResolvedResidentGrant {
  readonly read: readonly string[];
  readonly write: readonly string[];
  readonly hosts: readonly string[];
  readonly limits: {
    readonly memory: number;
    readonly pids: number;
    readonly disk: number;
    readonly cpus?: number | undefined;
  };
  /** Those that were written: where one cannot be enforced, nothing is started. */
  readonly chosenLimits: readonly ('memory' | 'pids' | 'disk' | 'cpus')[];
  /** This many crashes within the window block it. */
  readonly crashes: { readonly limit: number; readonly windowMs: number };
}

/** What starts a compute beside its interval. */
export type ResolvedTrigger =
  | { readonly kind: 'signal'; readonly name: string }
  /** A pattern of paths, relative to the project. */
  | { readonly kind: 'files'; readonly pattern: string }
  | { readonly kind: 'runs'; readonly statuses: readonly string[] };

export interface ResolvedSense {
  readonly name: string;
  /** Inside the project. */
  readonly file: string;
  readonly group: string;
  readonly intervalMs?: number | undefined;
  readonly on: readonly ResolvedTrigger[];
  /** 0: none. */
  readonly throttleMs: number;
  readonly timeoutMs: number;
  readonly graceMs: number;
  readonly allowLoop: boolean;
  /** The same for all senses of a group. */
  readonly grant: ResolvedResidentGrant;
}

export interface ResolvedWorkflow {
  readonly name: string;
  /** Inside the project. */
  readonly file: string;
  readonly on: readonly string[];
  readonly concurrency: number;
  readonly overflow: NonNullable<WorkflowConfig['overflow']>;
  readonly maxQueue: number;
  readonly maxRounds: number;
  readonly timeoutMs: number;
  readonly graceMs: number;
  /** The highest mode of its runs. */
  readonly mode: Mode;
  readonly runHosts: readonly string[];
  readonly runBudgetUsd: number | null;
  readonly runTokens: number | null;
  readonly grant: ResolvedResidentGrant;
}

export interface ResolvedSchedule extends Omit<ScheduleConfig, 'jitter' | 'catchUp' | 'timeout'> {
  readonly name: string;
  readonly jitterMs: number;
  readonly catchUp: 'latest' | 'skip';
  readonly timeoutMs: number | null;
}

/** By name. Empty without the user's agreement. */
export interface ResolvedResidents {
  readonly senses: Readonly<Record<string, ResolvedSense>>;
  readonly workflows: Readonly<Record<string, ResolvedWorkflow>>;
  readonly schedules: Readonly<Record<string, ResolvedSchedule>>;
}
