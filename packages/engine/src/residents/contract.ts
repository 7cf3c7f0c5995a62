/**
 * Residents: the user's own code, in workers that stay. A _key_ (`senses.<group>`, `workflow.<name>`) is served by at most
 * one worker; the worker is our code, and what the user wrote runs in its sandbox. Only a daemon has residents.
 *
 *   idle ──work, or `start`─► starting ──ready──► ready ──drain──► draining ──nothing under way──► idle
 *    ▲                          │                  │                 └──its plan changed──► starting
 *    │                          └──────crash───────┴──► waiting (1 s) ──► starting
 *    └──evict, nothing to do                               └──5 crashes in 60 s──► blocked ──reset──► idle
 *   starting ──no file could be loaded──► unloadable ──its file changed, or reset──► idle
 *
 * RE1  User code runs in no host and outside no sandbox.
 * RE2  At most one worker of a key gets work. A second one exists only for a changed plan: while the new version is tried, or
 *      while the old one finishes what is under way. After a crash the next one starts when nothing of the one before is left.
 * RE3  What was sent to a worker gets exactly one answer. If the worker ends first, the work fails as `crashed` or is sent
 *      again, as its kind says: a compute once more after a crash, a turn from its recorded steps.
 * RE4  The crash limit counts ends that nobody asked for; neither `ready` nor a restart resets it. A blocked or unloadable key gets no work.
 * RE5  A worker that is silent longer than its plan allows is killed from outside. So is one that is not ready in time.
 * RE6  A declared key costs no process before its first work.
 * RE7  What a compute changes and what it emits is one unit: both take effect when it returned, or neither does. A signal takes
 *      effect once, whatever is killed at any time, also when the compute was repeated.
 * RE8  A thread ends exactly once; the ledger refuses a second ending. A step of it is carried out once.
 * RE9  A signal that leads to itself is dropped, and so is one beyond the limits of depth and rate. A signal, or an ending of a
 *      run, whose compute cannot be begun is dropped, too. Each drop is recorded.
 */
import type {
  Cause,
  GuestFailure,
  ResidentEnding,
  ResidentLine,
  ResidentOrder,
  ResidentView,
  StepOutcome,
  SenseView,
  ThreadRow,
  ThreadTrigger,
  ThreadView,
  WorkflowView,
} from '@caisson/protocol';
import type { ResidentPlan } from './settings-contract.ts';

export type * from './settings-contract.ts';

/** Starts workers; the only part that knows processes. A start that fails rejects with WorkerStartError. */
export interface ResidentStarter {
  start(plan: ResidentPlan): Promise<ResidentProcess>;
  /** Ends what a dead host left of its residents. */
  sweep(): Promise<void>;
}

/** A started worker. Its first line is `ready`, unless it ends before. */
export interface ResidentProcess {
  /** The id of this start. */
  readonly resident: string;
  readonly pid: number;
  /** Its limits that nothing enforces here, and why; null when all are. */
  readonly unenforced: string | null;
  /** Resolves when the order is taken: a worker that does not read slows its sender. False once it has ended. */
  send(order: ResidentOrder): Promise<boolean>;
  /** Everything that the worker says, checked, in order. One listener, set in the same turn as the start resolved. */
  onLine(listener: (line: ResidentLine) => void): void;
  /** Ends it and everything inside at once. */
  kill(): void;
  /** Resolves when nothing of it is left; never rejects. */
  readonly ended: Promise<ResidentEnding>;
}

/** Work for a key. */
export type ResidentWork =
  | Extract<ResidentOrder, { readonly kind: 'compute' }>
  | Extract<ResidentOrder, { readonly kind: 'turn' }>;

/** How a compute went. */
export interface ComputeOutcome {
  readonly durationMs: number;
  readonly signals: readonly { readonly name: string; readonly payload: unknown }[];
  readonly failure?: GuestFailure;
  /** It was not begun, and why. */
  readonly dropped?: NotBegun;
}

/** Too many signals wait; its key, or its file, cannot work; its key does not serve it any more. */
export type NotBegun = 'overflow' | 'blocked' | 'withdrawn';

/** What a compute emitted, and why it was made. */
export interface Emission {
  readonly computeId: string;
  readonly signals: ComputeOutcome['signals'];
  readonly causes: readonly Cause[];
}

/** How a turn went. */
export type TurnOutcome =
  | { readonly kind: 'message'; readonly role: string; readonly content: unknown }
  | { readonly kind: 'end' }
  | { readonly kind: 'failed'; readonly role?: string; readonly failure: GuestFailure }
  /** Its host ended the worker: it is to be made again. */
  | { readonly kind: 'interrupted' };

/** A turn that is under way. */
export interface RunningTurn {
  readonly outcome: Promise<TurnOutcome>;
  /** The outcome of one of its steps; without effect once the turn is over. */
  answerStep(ordinal: number, outcome: StepOutcome): void;
  /** Its signal is aborted, and its thread is ended after the grace of its order, or this one; with 0 it is ended unasked. */
  abandon(why: string, graceMs?: number): void;
}

/** Keyed workers: cold start, respawn, crash limit, drain, evict. */
export interface WorkerRuntime {
  /** Says what a key serves. A changed plan drains the worker and starts the next one when there is work, or at once if `isKept`. */
  declare(plan: ResidentPlan, options: { readonly isKept: boolean }): void;
  /** No longer served: drained and forgotten. */
  withdraw(key: string): Promise<void>;
  /** One compute, now. Repeated when its worker ends; see RE3. */
  compute(
    key: string,
    order: Omit<Extract<ResidentOrder, { kind: 'compute' }>, 'kind' | 'id' | 'origin'> & {
      /** Signals that led to it; they are the causes of what it emits. */
      readonly causes: readonly Cause[];
    },
  ): Promise<ComputeOutcome>;
  /** What this compute emitted is recorded: its worker, if there is one, forgets it. */
  delivered(key: string, sense: string, computeId: string): void;
  /**
   * One turn; `onStep` gets each step that the role asks for, which is answered later, or never, and the value of each that is
   * its own work. When its worker ends, or its
   * key is blocked or cannot be loaded, the turn fails as `crashed`, and it is `interrupted` when the host ended the worker
   * (`evict`, `restart`, a `drain` beyond its limit): it is not sent again here, because the next order has other steps.
   */
  turn(
    key: string,
    order: Omit<Extract<ResidentOrder, { kind: 'turn' }>, 'kind' | 'id'>,
    onStep: (step: Extract<ResidentLine, { kind: 'step' | 'worked' }>) => void,
  ): RunningTurn;
  /** Starts its worker, if it has none; after a crash when its delay is over. False when there is no such key, or it takes no work. */
  start(key: string): Promise<boolean>;
  /** Finishes what is under way, then replaces the worker. */
  drain(key: string): Promise<void>;
  /** Stops it, and does not start it again before there is work. */
  evict(key: string): Promise<void>;
  /** Ends it now and starts it again: computes are repeated, turns are `interrupted`. False when there is no such key. */
  restart(key: string): Promise<boolean>;
  /** Ends a block, or a file that could not be loaded. False when there is no such key. */
  reset(key: string): Promise<boolean>;
  /** Null for a key that is not served: also while the last worker of one that was withdrawn finishes. */
  view(key: string): ResidentView | null;
  list(): readonly ResidentView[];
  /** Senses stop at once; turns get the grace, then nothing of any worker is left. Idempotent. */
  shutdown(options: { readonly graceMs: number }): Promise<void>;
}

/** A signal that is on its way to its listeners. */
export interface DeliveredSignal {
  readonly signalId: string;
  readonly name: string;
  readonly sense: string;
  readonly payload: unknown;
  readonly causes: readonly Cause[];
}

/** The threads of all workflows. */
export interface Threads {
  /** Accepts a thread, or says why not; a repeated `idempotencyKey` gives the same thread. */
  start(start: {
    readonly workflow: string;
    readonly trigger: ThreadTrigger;
    readonly payload: unknown;
    readonly causes: DeliveredSignal['causes'];
    readonly idempotencyKey?: string;
    readonly continues?: string;
  }): Promise<{ readonly threadId: string } | { readonly dropped: 'overflow' | 'rejected' }>;
  list(filter?: {
    workflow?: string;
    status?: readonly string[];
    limit?: number;
    after?: string;
  }): readonly ThreadRow[];
  show(threadId: string): ThreadView | null;
  /** False when it has ended already. */
  cancel(threadId: string): Promise<boolean>;
  /** Goes on with every thread that has not ended: after a start, and for a key whose worker ended. */
  recoverThreadsForWorker(workflow?: string): Promise<void>;
  stop(): Promise<void>;
}

/** The door of the room, for the daemon. */
export interface Residents {
  senses(): readonly SenseView[];
  workflows(): readonly WorkflowView[];
  residents(): readonly ResidentView[];
  readonly threads: Threads;
  /** Asks for an immediate compute and resolves with its outcome. */
  trigger(sense: string): Promise<ComputeOutcome>;
  reset(key: string): Promise<void>;
  drain(key: string): Promise<void>;
  /** Ends the worker now and starts it again. */
  restart(key: string): Promise<void>;
  /** Reads files and settings again: what changed is drained and replaced. Resolves with the keys that changed. */
  reload(): Promise<readonly string[]>;
  /** RE2, RE8: nothing is left; what was under way is recovered at the next start. */
  stop(): Promise<void>;
}
