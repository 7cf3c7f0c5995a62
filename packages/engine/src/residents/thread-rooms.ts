/** What threads work with. */
import type { Clock } from '@caisson/ground';
import type { DispatchResult, Mode, OVERFLOWS } from '@caisson/protocol';
import type { DispatchRequest } from '../admission/index.ts';
import type { EventFeed, Ledger, Recorder } from '../ledger/index.ts';
import type { WorkerRuntime, WorkflowSettings } from './contract.ts';

/** What the threads of a workflow may do, as it is configured now. */
export interface ThreadSettings extends Pick<WorkflowSettings, 'concurrency'> {
  readonly overflow: (typeof OVERFLOWS)[number];
  readonly maxQueue: number;
  readonly maxRounds: number;
  readonly timeoutMs: number;
  readonly graceMs: number;
  /** Limits of the runs that it starts. */
  readonly mode: Mode;
  readonly runHosts: readonly string[];
  readonly runBudgetUsd: number | null;
  readonly runTokens: number | null;
}

export interface ThreadRooms {
  readonly clock: Clock;
  readonly ledger: Ledger;
  readonly recorder: Recorder;
  readonly feed: EventFeed;
  readonly runtime: Pick<WorkerRuntime, 'turn' | 'evict' | 'view'>;
  readonly projectRoot: string;
  /** How deep runs of this project may dispatch others. */
  readonly depth: number;
  /** Null: it is not declared, or the user has not agreed to it. */
  findWorkflow(name: string): ThreadSettings | null;
  /** Once for each idempotency key; resolves when the run was accepted, and never when the host ends before that. */
  dispatch(request: DispatchRequest): Promise<{ readonly runId: string }>;
  describeRun(runId: string): Promise<DispatchResult>;
  /** The bytes of its patch, however it ended. Rejects where its work is in none, or cannot be read. */
  measurePatch(runId: string): Promise<number>;
  cancelRun(runId: string): Promise<unknown>;
  warn(message: string): void;
}
