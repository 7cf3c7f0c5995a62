/** Residents as the library, `-o json` and the daemon's routes show them. */
import * as z from 'zod/mini';
import { Timestamp } from './ids.ts';
import { ThreadEnding } from './resident-events.ts';
import { EmittedSignal, GuestFailure, ResidentEnding, ThreadMessage } from './resident-lines.ts';
import { Cause, ThreadTrigger } from './resident-causes.ts';

const count = () => z.int().check(z.nonnegative());

/** The states are described in the room `residents` of the engine (contract.ts). */
export const ResidentState = z.enum([
  'idle',
  'starting',
  'ready',
  'draining',
  'waiting',
  'blocked',
  'unloadable',
]);
export type ResidentState = z.infer<typeof ResidentState>;

export const ResidentView = z.object({
  key: z.string(),
  state: ResidentState,
  /** Names of its senses, or of its workflow. */
  serves: z.array(z.string()),
  pid: z.optional(z.int()),
  readySince: z.optional(Timestamp),
  /** Within the window of the crash limit. */
  crashes: count(),
  starts: count(),
  underWay: count(),
  memoryBytes: z.optional(count()),
  /** Limits of the process that nothing enforces here, and why. */
  unenforced: z.optional(z.string()),
  /** Why a file could not be loaded, by name. */
  problems: z.optional(z.record(z.string(), z.string())),
  /** How it ended the last time before it was blocked. */
  blockReason: z.optional(z.string()),
  lastEnding: z.optional(z.object({ ...ResidentEnding.shape, at: Timestamp })),
});
export type ResidentView = z.infer<typeof ResidentView>;

export const SenseView = z.object({
  name: z.string(),
  group: z.string(),
  file: z.string(),
  state: ResidentState,
  intervalMs: z.optional(z.number()),
  on: z.array(z.string()),
  isComputing: z.boolean(),
  /** Since the daemon started. */
  computes: count(),
  failures: count(),
  lastComputeAt: z.optional(Timestamp),
  lastDurationMs: z.optional(z.number()),
  lastProblem: z.optional(z.string()),
  /** Why its file, as it is now, could not be loaded; an older version may be at work. */
  problem: z.optional(z.string()),
  nextAt: z.optional(Timestamp),
});
export type SenseView = z.infer<typeof SenseView>;

/** How a compute went that a person asked for. */
export const ComputeView = z.object({
  durationMs: z.number(),
  signals: z.array(EmittedSignal),
  failure: z.optional(GuestFailure),
});
export type ComputeView = z.infer<typeof ComputeView>;

export const WorkflowView = z.object({
  name: z.string(),
  file: z.string(),
  state: ResidentState,
  on: z.array(z.string()),
  concurrency: count(),
  overflow: z.string(),
  active: count(),
  queued: count(),
  problem: z.optional(z.string()),
});
export type WorkflowView = z.infer<typeof WorkflowView>;

export const ThreadStatus = z.union([z.enum(['queued', 'running', 'waiting']), ThreadEnding]);
export type ThreadStatus = z.infer<typeof ThreadStatus>;

/** What became of a start. `dropped` and `rejected`: there was no room, as the workflow's `overflow` decides. */
export const ThreadStart = z.union([
  z.object({ threadId: z.string() }),
  z.object({ dropped: z.enum(['overflow', 'rejected']) }),
]);
export type ThreadStart = z.infer<typeof ThreadStart>;

export const ThreadRow = z.object({
  threadId: z.string(),
  workflow: z.string(),
  status: ThreadStatus,
  trigger: ThreadTrigger,
  acceptedAt: Timestamp,
  acceptedOffset: z.int(),
  startedAt: z.optional(Timestamp),
  endedAt: z.optional(Timestamp),
  rounds: count(),
  maxRounds: count(),
  timeoutMs: z.number(),
  lastRole: z.optional(z.string()),
  /** Steps of the present round that are not over. */
  waitsFor: z.optional(
    z.array(
      z.object({
        ordinal: count(),
        kind: z.string(),
        runIds: z.optional(z.array(z.string())),
        questionId: z.optional(z.string()),
        until: z.optional(z.string()),
      }),
    ),
  ),
  /** The highest ordinal of a step of the present round that has started. */
  lastStep: z.optional(count()),
  /** Lower ones that have not: steps that begin together are recorded in any order. */
  skippedSteps: z.optional(z.array(count())),
  /** Time that did not count for the timeout: it slept or a person was asked, and its role did no work of its own. `pausedSince` while it does. */
  pausedMs: z.optional(z.number()),
  pausedSince: z.optional(Timestamp),
  /** Why its workflow gets no work now, as its daemon knows. */
  heldBy: z.optional(z.string()),
  detail: z.optional(z.string()),
  continues: z.optional(z.string()),
});
export type ThreadRow = z.infer<typeof ThreadRow>;

export const ThreadView = z.object({
  ...ThreadRow.shape,
  payload: z.unknown(),
  causes: z.array(Cause),
  messages: z.array(ThreadMessage),
  /** Runs that it has started. */
  runs: z.array(z.string()),
});
export type ThreadView = z.infer<typeof ThreadView>;

export const ScheduleView = z.object({
  name: z.string(),
  cron: z.string(),
  timezone: z.optional(z.string()),
  catchUp: z.enum(['latest', 'skip']),
  what: z.string(),
  nextAt: z.optional(Timestamp),
  lastSlot: z.optional(z.string()),
  /** The last one made up for a time that was missed. */
  lastIsCatchUp: z.optional(z.boolean()),
  lastRunId: z.optional(z.string()),
  lastThreadId: z.optional(z.string()),
  lastProblem: z.optional(z.string()),
});
export type ScheduleView = z.infer<typeof ScheduleView>;
