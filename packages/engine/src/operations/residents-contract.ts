/** The part of the `Caisson` contract about senses, workflows and schedules. */
import type {
  ComputeView,
  ResidentView,
  ScheduleView,
  SenseView,
  ThreadRow,
  ThreadStart,
  ThreadStatus,
  ThreadView,
  WorkflowView,
} from '@caisson/protocol';

/** Which threads, in the order of their acceptance. */
export interface ThreadFilter {
  readonly workflow?: string;
  readonly status?: ThreadStatus | readonly ThreadStatus[];
  readonly newestFirst?: boolean;
  /** Begins behind this thread: the last one of the page before. */
  readonly after?: string;
  readonly limit?: number;
}

/**
 * Senses, workflows and schedules. Only a daemon has them: without one, threads, logs and schedules can be read, and all
 * else throws NoDaemonError. A thread is named by a unique beginning or ending of its id, or `latest`.
 */
export interface ResidentsApi {
  senses(): Promise<readonly SenseView[]>;
  workflows(): Promise<readonly WorkflowView[]>;
  /** The workers, by key: `senses.<group>` or `workflow.<name>`. */
  list(): Promise<readonly ResidentView[]>;
  /** Asks for a compute now and resolves with its outcome. */
  trigger(sense: string): Promise<ComputeView>;
  startThread(
    workflow: string,
    payload?: unknown,
    options?: { readonly idempotencyKey?: string },
  ): Promise<ThreadStart>;
  threads(filter?: ThreadFilter): Promise<readonly ThreadRow[]>;
  thread(thread: string): Promise<ThreadView>;
  /** False when it has ended already. */
  cancelThread(thread: string): Promise<boolean>;
  /** A new thread that begins with the messages of an ended one. */
  resumeThread(thread: string): Promise<ThreadStart>;
  /** Ends a block, or a file that could not be loaded. A resident is a key, a sense, a group or a workflow. */
  reset(resident: string): Promise<void>;
  /** Lets its worker finish, and replaces it. */
  drain(resident: string): Promise<void>;
  /** Ends its worker now, and starts it again. */
  restart(resident: string): Promise<void>;
  /** What its code printed and logged; with `follow` also what it will, until it is aborted. */
  logs(resident: string, options?: { follow?: boolean; signal?: AbortSignal }): AsyncIterable<Buffer>;
  schedules(): Promise<readonly ScheduleView[]>;
}
