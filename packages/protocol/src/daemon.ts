/** What a daemon and the processes that use it tell each other about the daemon itself. */
import * as z from 'zod/mini';
import { Timestamp } from './ids.ts';
import { ResidentView, ScheduleView } from './resident-views.ts';

const count = () => z.int().check(z.nonnegative());

/** A process that serves a project: enough to recognise it later, also after its pid was used again. */
export const DaemonIdentity = z.object({
  pid: z.int().check(z.positive()),
  /** In the kernel's ticks since the start of the machine. */
  startTime: z.string(),
  /** The start of the machine that the ticks count from. */
  bootId: z.string(),
  hostId: z.string(),
  version: z.string(),
  startedAt: Timestamp,
});
export type DaemonIdentity = z.infer<typeof DaemonIdentity>;

/**
 * `serving` accepts runs. `draining` accepts none and lets its own finish. `leaving` leaves running agents to the next
 * daemon. `stopping` stops what is left and keeps its work.
 */
export const DaemonPhase = z.enum(['serving', 'draining', 'leaving', 'stopping']);
export type DaemonPhase = z.infer<typeof DaemonPhase>;

const DaemonRun = z.object({
  runId: z.string(),
  status: z.enum(['queued', 'running']),
  task: z.string(),
  acceptedAt: Timestamp,
});

export const DaemonStatus = z.object({
  ...DaemonIdentity.shape,
  phase: DaemonPhase,
  /** The version of adoption that its workers speak; absent: 1. */
  adoptionVersion: z.optional(z.int()),
  uptimeMs: count(),
  projectRoot: z.string(),
  stateDir: z.string(),
  socket: z.string(),
  /** The file that it writes its lines to; null where a terminal or a service manager gets them. */
  log: z.nullable(z.string()),
  running: count(),
  queued: count(),
  /** How many runs of the project may be under way at once; absent from daemons of older versions. */
  concurrency: z.optional(count()),
  /** The first of the runs that it carries out, oldest first. */
  runs: z.array(DaemonRun),
  /** Absent where none is declared. */
  residents: z.optional(z.array(ResidentView)),
  /** Those that have not ended. */
  /** `held`: of the running ones, those whose workflow gets no work now; absent: none. */
  threads: z.optional(
    z.object({ queued: count(), running: count(), waiting: count(), held: z.optional(count()) }),
  ),
  schedules: z.optional(z.array(ScheduleView)),
  /** Where pages and programs reach it over TCP. */
  url: z.optional(z.string()),
  /** Until when it waits for its runs. */
  drainsUntil: z.optional(Timestamp),
});
export type DaemonStatus = z.infer<typeof DaemonStatus>;

/** Who waits longer means a daemon that goes on. */
export const MAX_DRAIN_MS = 30 * 24 * 3_600_000;

/**
 * How a daemon ends: it lets its runs finish for so long, leaves them to the next daemon, or stops them at once. The work
 * so far is kept.
 */
export const StopOrder = z.union([
  z.strictObject({ drainMs: count().check(z.maximum(MAX_DRAIN_MS)) }),
  z.strictObject({ leave: z.literal(true) }),
  z.strictObject({ now: z.literal(true) }),
]);
export type StopOrder = z.infer<typeof StopOrder>;

export const ReloadReport = z.object({
  changes: z.array(z.object({ key: z.string(), previous: z.unknown(), new: z.unknown() })),
  /** Keys whose new values only a new daemon uses. */
  needsRestart: z.array(z.string()),
  /** Residents that were replaced, or are being replaced. */
  residents: z.optional(z.array(z.string())),
  /** What could not be renewed, and goes on as it was. */
  warnings: z.optional(z.array(z.string())),
});
export type ReloadReport = z.infer<typeof ReloadReport>;
