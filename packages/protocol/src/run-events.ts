/** What happens to a task and its run beside its lifecycle. */
import * as z from 'zod/mini';
import { defineEvent } from './define-event.ts';
import { Failure } from './failure.ts';
import { Sha256 } from './ids.ts';
import { CheckpointRef } from './lifecycle-events.ts';
import { SessionResume, Usage } from './result.ts';
import { HeartbeatCounters } from './worker-lines.ts';

export const TaskRefused = defineEvent({
  type: 'task.refused',
  version: 1,
  durable: true,
  summary: 'Admission refused a task; there is no run.',
  data: z.object({ check: z.string(), detail: z.string(), task: z.optional(z.string()) }),
});
export const RunQueued = defineEvent({
  type: 'run.queued',
  version: 1,
  durable: true,
  summary: 'No slot was free; the run waits for its turn.',
  data: z.object({ position: z.int(), limit: z.int() }),
});
export const AttemptLaunched = defineEvent({
  type: 'attempt.launched',
  version: 1,
  durable: true,
  summary: 'A worker process was started; the handle finds it again after a crash of the host.',
  data: z.object({
    handle: z.record(z.string(), z.unknown()),
    nonce: z.string(),
    workspace: z.record(z.string(), z.unknown()),
  }),
});
export const AttemptEnded = defineEvent({
  type: 'attempt.ended',
  version: 1,
  durable: true,
  summary: 'This attempt failed and another one follows.',
  data: z.object({
    failure: Failure,
    nextAttempt: z.int(),
    delayMs: z.number(),
    durationMs: z.optional(z.number()),
    /** The session that the next attempt goes on with. */
    resume: z.optional(SessionResume),
    usage: z.optional(Usage),
    costUsd: z.optional(z.number()),
    patchRef: z.optional(Sha256),
    patchMissing: z.optional(z.string()),
    checkpoint: z.optional(CheckpointRef),
  }),
});
export const RunStalled = defineEvent({
  type: 'run.stalled',
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
});
export const HealthChanged = defineEvent({
  type: 'health.changed',
  version: 1,
  durable: true,
  summary: 'The worker went from one health state to another.',
  data: z.object({ previous: z.string(), current: z.string() }),
});
export const CancelRequested = defineEvent({
  type: 'cancel.requested',
  version: 1,
  durable: true,
  summary: 'Somebody asked for the run to stop.',
  data: z.object({ by: z.string(), force: z.boolean() }),
});
export const RunForgotten = defineEvent({
  type: 'run.forgotten',
  version: 1,
  durable: true,
  summary: "The run's contents were taken away on request; that it happened stays.",
  data: z.object({}),
});
export const WorkerWarned = defineEvent({
  type: 'warning',
  version: 1,
  durable: true,
  summary: 'Something is odd and work goes on.',
  data: z.object({ source: z.string(), message: z.string() }),
});
export const StreamGap = defineEvent({
  type: 'stream.malformed',
  version: 1,
  durable: true,
  summary: 'A line of the worker could not be read.',
  data: z.object({ reason: z.string(), bytes: z.int(), head: z.string() }),
});
export const EventsLost = defineEvent({
  type: 'events.lost',
  version: 1,
  durable: true,
  summary: 'Events of the run could not be recorded: how many, by type.',
  data: z.object({ count: z.int(), types: z.record(z.string(), z.int()) }),
});
/** Live only: heard on the bus and in `-o ndjson`, never written. */
export const WorkerProgressed = defineEvent({
  type: 'worker.progress',
  version: 1,
  durable: false,
  summary: 'What the worker is doing now.',
  data: z.looseObject({ phase: z.string() }),
});
export const WorkerBeat = defineEvent({
  type: 'worker.heartbeat',
  version: 1,
  durable: false,
  summary: 'The worker is alive; real counters since the last beat.',
  data: z.object({ counters: HeartbeatCounters }),
});
export const SettleWaiting = defineEvent({
  type: 'settle.waiting',
  version: 1,
  durable: false,
  summary:
    'The attempt is over and cannot be settled yet, for this reason; it is tried again. Its slot and its work are kept.',
  data: z.object({ reason: z.string(), delayMs: z.number() }),
});
