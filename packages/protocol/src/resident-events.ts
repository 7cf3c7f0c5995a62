/** Events of residents: senses and their signals, workflows and their threads, schedules. */
import * as z from 'zod/mini';
import type { EventTable } from './define-event.ts';
import { ResidentKey } from './resident-job.ts';
import { causes, ThreadTrigger } from './resident-causes.ts';

const count = () => z.int().check(z.nonnegative());
/** What JSON can say; the recorder writes nothing else. */
const jsonValue = () =>
  z.unknown().check(z.refine((value) => !['bigint', 'function', 'symbol'].includes(typeof value)));
const detail = () => z.string().check(z.maxLength(8192));

/** `thread_` + 20 characters. A thread has its own stream in the ledger, under this id. */
export const ThreadId = z.string().check(z.regex(/^thread_[0-9a-z]{20}$/));
export type ThreadId = z.infer<typeof ThreadId>;

/**
 * `replaced`, and `cancelled` while it was queued, never started; a start that was dropped or rejected is no thread at all.
 * `crashed`: it could not go on after its worker ended. `timeout` and `too-long` (more rounds than it may have) are limits.
 */
export const ThreadEnding = z.enum([
  'done',
  'failed',
  'cancelled',
  'timeout',
  'too-long',
  'crashed',
  'replaced',
]);
export type ThreadEnding = z.infer<typeof ThreadEnding>;

export const residentEvents = {
  'resident.started': {
    version: 1,
    durable: false,
    summary: 'A worker of a resident is ready.',
    data: z.object({
      key: ResidentKey,
      resident: z.string(),
      startMs: z.number(),
      /** Whether it takes over from one that has the old version of its files or settings. */
      isNewVersion: z.optional(z.boolean()),
    }),
  },
  'resident.ended': {
    version: 1,
    durable: false,
    summary: 'A worker of a resident has ended; nothing of it is left.',
    data: z.object({
      key: ResidentKey,
      resident: z.string(),
      why: z.string(),
      detail: detail(),
      stderrTail: z.string(),
      /** When it is started again; absent where it is not. */
      respawnMs: z.optional(z.number()),
    }),
  },
  'resident.blocked': {
    version: 1,
    durable: true,
    summary: 'A resident crashed too often; it gets no work until a person resets it.',
    data: z.object({ key: ResidentKey, crashes: count(), windowMs: z.number(), detail: detail() }),
  },
  'resident.reset': {
    version: 1,
    durable: true,
    summary: 'A person lets a blocked resident work again.',
    data: z.object({ key: ResidentKey }),
  },
  'resident.logged': {
    version: 1,
    durable: false,
    summary: 'Code of the user logged a line.',
    data: z.object({
      key: ResidentKey,
      name: z.string(),
      text: z.string(),
      threadId: z.optional(z.string()),
    }),
  },
  'sense.computed': {
    version: 1,
    durable: false,
    summary: 'A compute of a sense is over.',
    data: z.object({
      sense: z.string(),
      cause: z.string(),
      durationMs: z.number(),
      signals: z.array(z.string()),
      failure: z.optional(z.string()),
    }),
  },
  'signal.emitted': {
    version: 1,
    durable: true,
    summary: 'A sense emitted a signal that has listeners.',
    data: z.object({
      signalId: z.string(),
      name: z.string(),
      sense: z.string(),
      payload: jsonValue(),
      causes: causes(),
      /** The senses and workflows that listen. */
      listeners: z.array(z.string()).check(z.maxLength(256)),
    }),
  },
  'signal.dropped': {
    version: 2,
    durable: true,
    summary:
      'A signal, an ending of a run, or a start of a thread, had no effect: a loop, a limit, no room, or a listener that cannot work.',
    data: z.object({
      /** Of the signal; the status of a run that ended. */
      name: z.string(),
      /** That emitted it; absent for the ending of a run, which version 1 had not. */
      sense: z.optional(z.string()),
      endedRun: z.optional(z.string()),
      why: z.enum(['loop', 'depth', 'rate', 'overflow', 'rejected', 'replaced', 'blocked']),
      /** Whom it did not reach; absent for all. */
      listener: z.optional(z.string()),
      /** How many, where several became one record. */
      count: count(),
      causes: causes(),
    }),
  },
  'thread.accepted': {
    version: 1,
    durable: true,
    summary: 'A workflow has a new thread; it waits for its turn.',
    data: z.object({
      workflow: z.string(),
      trigger: ThreadTrigger,
      payload: jsonValue(),
      causes: causes(),
      maxRounds: count(),
      timeoutMs: z.number(),
      /** The ended thread whose messages it begins with. */
      continues: z.optional(z.string()),
    }),
  },
  'thread.started': {
    version: 1,
    durable: true,
    summary: 'The thread has its turn.',
    data: z.object({}),
  },
  'thread.step-started': {
    version: 1,
    durable: true,
    summary: 'A role asked the host for something that is done once.',
    data: z.object({
      round: count(),
      ordinal: count(),
      kind: z.enum(['dispatch', 'wait', 'ask', 'sleep', 'value']),
      digest: z.string(),
      /** How large the request was, which is not recorded here itself. Absent in what earlier versions recorded. */
      requestBytes: z.optional(count()),
      /** Short values of the request by key, for a person who has to know what a changed role asks for. Absent in old records. */
      fields: z.optional(z.record(z.string(), z.string())),
      /** Of a dispatch: the step is over when the run has ended, not when it has begun. */
      waits: z.optional(z.boolean()),
      /** What it waits for. Of a dispatch: the run that it starts. */
      runIds: z.optional(z.array(z.string())),
      questionId: z.optional(z.string()),
      until: z.optional(z.string()),
    }),
  },
  'thread.step-ended': {
    version: 1,
    durable: true,
    summary: 'What a role asked for is done, or failed.',
    data: z.object({ round: count(), ordinal: count(), ok: z.boolean(), value: jsonValue() }),
  },
  'thread.message': {
    version: 1,
    durable: true,
    summary: 'A role gave its result; the thread goes on from here.',
    data: z.object({ round: count(), role: z.string(), content: jsonValue() }),
  },
  'thread.ended': {
    version: 1,
    durable: true,
    summary: 'The thread is over, once.',
    data: z.object({
      status: ThreadEnding,
      detail: z.optional(detail()),
      rounds: count(),
      durationMs: z.number(),
    }),
  },
  'schedule.fired': {
    version: 1,
    durable: true,
    summary: 'A time of a schedule came, and its run or thread was started.',
    data: z.object({
      schedule: z.string(),
      /** The time that it stands for. */
      slot: z.string(),
      isCatchUp: z.boolean(),
      /** What was started. */
      startedRun: z.optional(z.string()),
      startedThread: z.optional(z.string()),
      /** Why nothing was started. */
      problem: z.optional(detail()),
    }),
  },
} as const satisfies EventTable;
