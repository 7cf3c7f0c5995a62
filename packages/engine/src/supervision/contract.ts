/**
 * One worker, from its first byte to its end.
 * S1  Settles exactly once, whatever happens and in whatever order.
 * S2  SIGKILL only after the full grace; then nothing of the tree is left when `ended` resolves.
 * S3  `dead` is a state, never a kill: only deadline, cancel, budget, limits, a stall timeout or a lost record stop a
 *     worker.
 * S4  Time is monotonic: a jump of the wall clock or a stopped host changes no decision.
 * S5  A worker that another host drives now, or will, is left as it is: neither ordered nor killed. `ended` rejects then.
 */
import type { Clock } from '@caisson/ground';
import type {
  ControlMessage,
  Failure,
  HeartbeatCounters,
  StopReason,
  WorkerHeader,
  WorkerLine,
} from '@caisson/protocol';
import type { Compute, WorkerProcess } from '../compute/index.ts';

export type HealthState = 'healthy' | 'stale' | 'dead' | 'recovered';
/**
 * Why a run makes no progress.
 *   gone                  the worker itself does not report any more
 *   waiting-permission    a tool call waits until a person decides
 *   exited-but-pipe-open  the agent ended, but the sandbox around it did not
 *   waiting-stdin         one of the agent's processes reads the agent's stdin
 *   spinning              nothing is printed, but a good part of a core is in use
 *   stopped               worker or agent was stopped by a signal (SIGSTOP, Ctrl-Z) and waits for SIGCONT
 *   in-tool               a tool call, a script or a plain command has not returned
 *   model-failing         the agent asks its model, and every answer fails
 *   model-silent          none of these: an agent waits for its model
 */
export type StallReason =
  | 'waiting-stdin'
  | 'waiting-permission'
  | 'in-tool'
  | 'model-failing'
  | 'model-silent'
  | 'spinning'
  | 'stopped'
  | 'exited-but-pipe-open'
  | 'gone';

/** How the worker process ended, before its result is read. */
export interface WorkerEnd {
  readonly code: number | null;
  readonly signal: string | null;
  /** The order that was given, if one was. */
  readonly stopped: { readonly reason: StopReason; readonly detail: string } | null;
  /** The worker's own terminal line, if there was one. */
  readonly lastWord: WorkerLine | null;
  /** Why the worker did not get `go`, if it did not. */
  readonly refusal: Failure | null;
  readonly stderrTail: string;
  /** Processes of the attempt that could not be ended. */
  readonly survivors: readonly number[];
  /** The worker saw the end of its last sandbox, so nothing was searched. */
  readonly isProvenGone: boolean;
}

export interface SupervisionOptions {
  readonly worker: WorkerProcess;
  /** Whether the worker's processes cannot outlive it unseen: it has its own namespaces. */
  readonly isEnclosed: boolean;
  /** Whether the agent asks a model; a plain command does not. */
  readonly usesModel: boolean;
  readonly compute: Compute;
  readonly clock: Clock;
  readonly wallMs: number;
  readonly graceMs: number;
  readonly heartbeatMs: number;
  readonly stallTimeoutMs: number | null;
  /** The worker had its `go` from another host, and has been at work for so long. */
  readonly adoptedAfterMs?: number | undefined;
  /** The error that `ended` rejects with once another host drives the run (S5); null while this one does. */
  findTakeover(): Error | null;
  /** Compares the echoed grant; a failure here ends the worker before `go`. */
  onHeader(header: WorkerHeader): Failure | null;
  /** Makes `dispatch.started` durable; a failure here ends the worker before `go`. */
  onReady(): Promise<void>;
  /** Whether the run can still be recorded. Once it cannot, the worker's actions would be unknown: it is killed. */
  canRecord(): boolean;
  /** The counters of a beat as the host knows them. */
  countBeat(counters: HeartbeatCounters): HeartbeatCounters;
  /** While the model's answers fail, nothing that the worker says is progress. */
  isModelFailing(): boolean;
  onLine(line: WorkerLine): void;
  onMalformed(record: { reason: string; bytes: number; head: string }): void;
  onHealth(previous: HealthState, current: HealthState): void;
  onStalled(reason: StallReason, detail: string, silentMs: number): void;
}

export interface Supervision {
  readonly ended: Promise<WorkerEnd>;
  /** Asks the worker to stop; the first order counts, a later `force` only shortens the grace. */
  stop(reason: StopReason, options?: { detail?: string; force?: boolean }): void;
  send(message: ControlMessage): void;
  /** Leaves the worker to the next host (S5): `ended` rejects with this. */
  leave(why: Error): void;
  /** While a person decides, silence is `waiting-permission`. */
  setWaitingForPermission(isWaiting: boolean): void;
}
