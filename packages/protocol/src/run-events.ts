/** Events of a task and its run beside its lifecycle. */
import * as z from 'zod/mini';
import { Adoptable } from './adoption.ts';
import type { EventTable } from './define-event.ts';
import { Failure } from './failure.ts';
import { Sha256 } from './ids.ts';
import { MAX_BROUGHT } from './job.ts';
import { CheckpointRef } from './lifecycle-events.ts';
import { SessionResume, Usage } from './result.ts';
import { HeartbeatCounters, progressFields } from './worker-lines.ts';

/** `dead` is an observation, never a reason to kill. */
export const HealthState = z.enum(['healthy', 'stale', 'dead', 'recovered']);
export type HealthState = z.infer<typeof HealthState>;

export const runEvents = {
  'task.refused': {
    version: 1,
    durable: true,
    summary: 'Admission refused a task; there is no run.',
    data: z.object({ check: z.string(), detail: z.string(), task: z.optional(z.string()) }),
  },
  'run.queued': {
    version: 1,
    durable: true,
    summary: 'No slot was free; the run waits for its turn.',
    data: z.object({ position: z.int(), limit: z.int() }),
  },
  'run.placed': {
    version: 1,
    durable: false,
    summary: 'The run waited and has its slot now; its files are prepared.',
    data: z.object({}),
  },
  'attempt.launched': {
    version: 1,
    durable: true,
    summary: 'A worker process was started; the handle finds it again after a crash of the host.',
    data: z.object({
      /** Compute and the workspace read all of it, each with its own schema. */
      handle: z.looseObject({ pid: z.optional(z.int()) }),
      nonce: z.string(),
      workspace: z.looseObject({
        kind: z.optional(z.string()),
        path: z.optional(z.string()),
        mountPath: z.optional(z.string()),
        cwd: z.optional(z.string()),
        baseCommit: z.optional(z.nullable(z.string())),
        baselineCommit: z.optional(z.nullable(z.string())),
        baselineTree: z.optional(z.string()),
      }),
      adoption: z.optional(Adoptable),
      /** The state of the program's file (place, size, times, inode): evidence names its hash only while it is unchanged. */
      program: z.optional(z.string()),
      /** The agent has secrets; their values are in no record. */
      hasSecrets: z.optional(z.literal(true)),
    }),
  },
  'run.adopted': {
    version: 1,
    durable: true,
    summary:
      'The host of the run is gone, its worker went on, and this host drives the run now. What a host of a lower epoch writes of it is refused.',
    data: z.object({ host: z.string(), epoch: z.int(), previousHost: z.string() }),
  },
  'workspace.brought': {
    version: 1,
    durable: true,
    summary:
      'Ignored folders of the user are visible in the sandbox, each with a private overlay for what is written there.',
    data: z.object({ folders: z.array(z.string()).check(z.maxLength(MAX_BROUGHT + 16)) }),
  },
  'attempt.ended': {
    version: 1,
    durable: true,
    summary: 'This attempt failed and another one follows.',
    data: z.object({
      failure: Failure,
      nextAttempt: z.int(),
      delayMs: z.number(),
      durationMs: z.optional(z.number()),
      /** The conversation that the next attempt continues. */
      resume: z.optional(SessionResume),
      usage: z.optional(Usage),
      costUsd: z.optional(z.number()),
      patchRef: z.optional(Sha256),
      patchMissing: z.optional(z.string()),
      checkpoint: z.optional(CheckpointRef),
    }),
  },
  'run.stalled': {
    version: 3,
    durable: true,
    summary:
      'The run makes no progress, and this is what it waits for: gone and stopped are about the worker or a stopped agent, exited-but-pipe-open about a sandbox that outlives its agent, model-failing and model-silent about agents alone (decisions 0009, 0025).',
    data: z.object({
      reason: z.enum([
        'waiting-stdin',
        'waiting-permission',
        'in-tool',
        'model-failing',
        'model-silent',
        'spinning',
        'stopped',
        'exited-but-pipe-open',
        'gone',
      ]),
      detail: z.string(),
      silentMs: z.number(),
    }),
  },
  'health.changed': {
    version: 1,
    durable: true,
    summary: 'The worker changed from one health state to another.',
    data: z.object({ previous: HealthState, current: HealthState }),
  },
  'cancel.requested': {
    version: 1,
    durable: true,
    summary: 'A stop of the run was requested.',
    data: z.object({ by: z.string(), force: z.boolean() }),
  },
  'run.applied': {
    version: 1,
    durable: true,
    summary: "A person took the run's work into their files.",
    data: z.object({
      /** How many files were changed; 0 if they had it already. */
      files: z.int(),
      /** Whether conflict markers were left in them. */
      hasConflicts: z.boolean(),
      /** Present where a person chose only some files or hunks: the rest of the work is still to be taken. */
      isPartial: z.optional(z.literal(true)),
    }),
  },
  'timeout.drained': {
    version: 1,
    durable: true,
    summary: 'The owner of a pool took over the branch of a run that timed out; the pool lists it no more.',
    data: z.object({}),
  },
  'trash.deleted': {
    version: 1,
    durable: true,
    summary:
      'What a removed workspace had left in the trash was deleted: for its age, for the size of the trash, or because a person asked.',
    data: z.object({ path: z.string(), bytes: z.number(), why: z.enum(['age', 'size', 'asked']) }),
  },
  'run.forgotten': {
    version: 1,
    durable: true,
    summary: "The run's contents were deleted on request; its events stay.",
    data: z.object({}),
  },
  warning: {
    version: 1,
    durable: true,
    summary: 'Something is odd and work continues.',
    data: z.object({ source: z.string(), message: z.string() }),
  },
  'stream.malformed': {
    version: 1,
    durable: true,
    summary: 'A line of the worker could not be read.',
    data: z.object({ reason: z.string(), bytes: z.int(), head: z.string() }),
  },
  'events.lost': {
    version: 1,
    durable: true,
    summary: 'Events of the run could not be recorded: how many, by type.',
    data: z.object({ count: z.int(), types: z.record(z.string(), z.int()) }),
  },
  'worker.progress': {
    version: 1,
    durable: false,
    summary: 'What the worker is doing now.',
    data: z.object(progressFields()),
  },
  'worker.heartbeat': {
    version: 1,
    durable: false,
    summary: 'The worker is alive; real counters since the last beat.',
    data: z.object({ counters: HeartbeatCounters }),
  },
  'settle.waiting': {
    version: 1,
    durable: false,
    summary:
      'The attempt is over and cannot be settled yet, for this reason; it is tried again. Its slot and its work are kept.',
    data: z.object({ reason: z.string(), delayMs: z.number() }),
  },
  'worker.boot': {
    version: 1,
    durable: false,
    summary: 'The worker process has started to read its job.',
    data: z.object({ pid: z.int(), startTime: z.string() }),
  },
  'sandbox.started': {
    version: 1,
    durable: false,
    summary: 'Something of the run was started in its sandbox, with these layers enforced.',
    data: z.object({
      purpose: z.enum(['agent', 'setup', 'script', 'clean-room']),
      pid: z.int(),
      startTime: z.string(),
      enforced: z.record(z.string(), z.unknown()),
    }),
  },
  'verify.ran': {
    version: 1,
    durable: false,
    summary: 'The check of the work ran; its report is in the result.',
    data: z.object({ passed: z.boolean(), durationMs: z.number() }),
  },
  'compaction.started': {
    version: 1,
    durable: false,
    summary: 'The agent shortens its context.',
    data: z.object({ reason: z.optional(z.string()) }),
  },
  gap: {
    version: 1,
    durable: false,
    summary: 'This reader was too slow, and so many live events were left out for it.',
    data: z.object({ count: z.int() }),
  },
} as const satisfies EventTable;
