import { CaissonError, definedOnly, type Handoff } from '@caisson/protocol';

/** Which task an error is about. */
export interface WorkerPlace {
  readonly taskId: string;
  readonly branch: string;
  /** Absent where the task was refused before it became a run. */
  readonly runId?: string | undefined;
}

/** A task of a pool that was not handed off in order. */
export abstract class WorkerError extends CaissonError {
  readonly taskId: string;
  readonly branch: string;
  readonly runId: string | undefined;
  /** What the host knows of the work, where there is some. */
  readonly handoff: Handoff | undefined;

  constructor(
    place: WorkerPlace,
    message: string,
    { handoff, ...options }: { cause?: unknown; remedy?: string; handoff?: Handoff | undefined } = {},
  ) {
    const remedy = options.remedy ?? (place.runId && `What happened: caisson show ${place.runId}`);
    super(`task ${place.taskId}: ${message}`, definedOnly({ ...options, remedy }));
    this.taskId = place.taskId;
    this.branch = place.branch;
    this.runId = place.runId;
    this.handoff = handoff;
  }
}

/** The worker took longer than it may; its work so far is on its branch. */
export class WorkerTimeoutError extends WorkerError {
  readonly code = 'WORKER_TIMEOUT';
}

/** The task was refused, or its run did not come to its end. */
export class WorkerFailedError extends WorkerError {
  readonly code = 'WORKER_FAILED';
}

/** The work is done, and its branch is not where it was to be: not created, or not pushed. */
export class PushFailedError extends WorkerError {
  readonly code = 'PUSH_FAILED';
}

/** The run ended without a result. */
export class NoOutputError extends WorkerError {
  readonly code = 'NO_OUTPUT';
}

/** What the agent left as its hand-off cannot be read as JSON. */
export class HandoffUnparseableError extends WorkerError {
  readonly code = 'HANDOFF_UNPARSEABLE';
}

/** What the agent left as its hand-off is JSON, and no hand-off. */
export class HandoffShapeError extends WorkerError {
  readonly code = 'HANDOFF_SHAPE';
}

/** The pool is stopped, or stops while the task waits for its turn. */
export class PoolStoppedError extends WorkerError {
  readonly code = 'POOL_STOPPED';
}

/** What was given is no task: the message names the field. */
export class PoolTaskError extends WorkerError {
  readonly code = 'POOL_TASK';
}

/** A pool cannot be made of such values. */
export class PoolConfigError extends CaissonError {
  readonly code = 'POOL_CONFIG';
}
