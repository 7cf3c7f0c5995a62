/**
 * Where workers start. C1: workers are started nowhere else. C2: a handle is plain data; any later host can find the
 * worker again, and never mistakes another process for it (pid plus start time). Implementers must not read the
 * worker's stream and must not decide why it ends: supervision does.
 */
import type { SpareWorkers } from './spare-worker.ts';
import type { AdoptionClaim, Handover, Limits } from '@caisson/protocol';
import type { Readable, Writable } from 'node:stream';
import * as z from 'zod/mini';

export interface WorkerStart {
  readonly runId: string;
  readonly attempt: number;
  readonly jobFile: string;
  readonly mode: string;
  readonly boardFile: string | null;
  readonly contextFile: string | null;
  readonly trace: string;
  readonly path: string;
  readonly cwd: string;
}

/** Finds a worker again, also from another process. */
export const WorkerHandle = z.object({
  kind: z.literal('local'),
  runId: z.string(),
  attempt: z.int(),
  pid: z.int(),
  startTime: z.string(),
  /** Folders of the attempt's cgroup, empty without one. */
  cgroup: z.readonly(z.object({ name: z.string(), procsFiles: z.readonly(z.array(z.string())) })),
});
export type WorkerHandle = Readonly<z.infer<typeof WorkerHandle>>;

export interface WorkerProcess {
  readonly handle: WorkerHandle;
  readonly stdout: Readable;
  /** The last few KiB that the worker's own runtime printed as errors. */
  stderrTail(): string;
  readonly control: Writable;
  /** What the job's command reads, and what it prints as it prints it (`attached` in the job). */
  readonly input: Writable;
  readonly output: Readable;
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  kill(): void;
}

/** A worker of another host; how it exits is not known here, only that it did. */
export interface AdoptedWorker {
  readonly worker: WorkerProcess;
  readonly handover: Handover;
}

/** The limits of one attempt that are really enforced. */
export interface AttemptLimits {
  readonly name: string;
  readonly kind: 'v1' | 'v2' | 'none';
  readonly procsFiles: readonly string[];
  readonly enforced: { readonly memory: boolean; readonly cpus: boolean; readonly pids: boolean };
  readonly why?: string;
  events(): { oomKills: number; pidsMax: number };
  release(): Promise<void>;
}

export interface Compute {
  /** Makes the attempt's cgroup before anything of it runs. */
  limit(runId: string, attempt: number, limits: Limits): AttemptLimits;
  start(start: WorkerStart): Promise<WorkerProcess>;
  /** Where `start` takes a worker from that waits already. */
  readonly spares: SpareWorkers;
  /**
   * Takes over the worker of this handle, which goes on without its host. Rejects with WorkerUnreachableError when it does
   * not answer or refuses.
   */
  adopt(
    handle: WorkerHandle,
    socket: string,
    claim: AdoptionClaim,
    signal?: AbortSignal,
  ): Promise<AdoptedWorker>;
  /** Whether the worker of this handle waits for a host at this socket, or has one. */
  canAdopt(handle: WorkerHandle, socket: string): Promise<boolean>;
  /** The limits of an attempt that another host started. */
  reopenLimits(handle: WorkerHandle): Pick<AttemptLimits, 'events' | 'release'>;
  /** Whether the worker of this handle, or anything it started, still exists. */
  recover(handle: WorkerHandle): { readonly alive: boolean };
  /**
   * Ends the worker and its whole tree; resolves when nothing of it is left, or after ten seconds with the pids that
   * not even SIGKILL ended (they hang in the kernel). `isProvenGone`: the worker itself saw the last of its sandboxes
   * end, so the processes of the machine need not be searched.
   */
  stop(handle: WorkerHandle, options?: { readonly isProvenGone?: boolean }): Promise<readonly number[]>;
  /** Removes what `limit` made, also in another host than the one that made it. */
  release(handle: WorkerHandle): Promise<void>;
  /** Ends and removes what an attempt left whose handle was never recorded. */
  sweep(runId: string, attempt: number): Promise<void>;
  /** Removes the empty cgroups of attempts that `isOver` reports as over; returns how many there were. */
  removeLeftGroups(isOver: (runId: string, ageMs: () => number) => boolean): Promise<number>;
}
