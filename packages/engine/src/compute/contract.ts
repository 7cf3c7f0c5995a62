/**
 * Where workers start. C1: workers are started nowhere else. C2: a handle is plain data; any later host can find the
 * worker again, and never mistakes another process for it (pid plus start time). Implementers must not read the
 * worker's stream and must not decide why it ends: supervision does.
 */
import type { ExpectedAttempt, SpareWorkers } from './spare-worker.ts';
import type { AdoptionClaim, Handover, Limits } from '@caisson/protocol';
import type { Readable, Writable } from 'node:stream';
import * as z from 'zod/mini';

export interface WorkerStart {
  /** The name of its cgroup and of the mark of its processes: `<run>.<attempt>`, or the id of a start of a resident. */
  readonly key: string;
  readonly jobFile: string;
  readonly path: string;
  readonly cwd: string;
  /** Small values that are not secret, beside those that every worker has. */
  readonly env: Readonly<Record<string, string>>;
  /** Of a worker of attempts: what it will load. */
  readonly expected?: ExpectedAttempt;
  /** Another program of ours than the worker of attempts; none of these is started in advance. */
  readonly entry?: string;
}

/** The key of an attempt. */
export function attemptKey(runId: string, attempt: number): string {
  return `${runId}.${attempt}`;
}

const place = {
  kind: z.literal('local'),
  pid: z.int(),
  startTime: z.string(),
  /** Folders of its cgroup, empty without one. */
  cgroup: z.readonly(z.object({ name: z.string(), procsFiles: z.readonly(z.array(z.string())) })),
};

/** Finds a worker again, also from another process. Older ledgers name the run and the attempt instead of the key. */
export const WorkerHandle = z.union([
  z.object({ ...place, key: z.string() }),
  z.pipe(
    z.object({ ...place, runId: z.string(), attempt: z.int() }),
    z.transform(({ runId, attempt, ...rest }) => ({ ...rest, key: attemptKey(runId, attempt) })),
  ),
]);
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

/** The limits of one worker's sandboxes that are really enforced. */
export interface WorkerLimits {
  readonly name: string;
  readonly kind: 'v1' | 'v2' | 'none';
  readonly procsFiles: readonly string[];
  readonly enforced: { readonly memory: boolean; readonly cpus: boolean; readonly pids: boolean };
  readonly why?: string;
  events(): { oomKills: number; pidsMax: number };
  release(): Promise<void>;
}

export interface Compute {
  /** Makes the cgroup of a key before anything of it runs. */
  limit(key: string, limits: Limits): WorkerLimits;
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
  /** The limits of what another host started. */
  reopenLimits(handle: WorkerHandle): Pick<WorkerLimits, 'events' | 'release'>;
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
  /** Ends and removes what is left of a key whose handle was never recorded. */
  sweep(key: string): Promise<void>;
  /**
   * Removes the empty cgroups whose owner (a run, or a start of a resident) `isOver` reports as over; returns how many
   * there were.
   */
  removeLeftGroups(isOver: (owner: string, ageMs: () => number) => boolean): Promise<number>;
}
