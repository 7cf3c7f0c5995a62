/**
 * What host, resident worker and guest say to each other. The guest is our program inside the sandbox that runs the user's
 * code, so nothing that it says is trusted: the worker checks each line against these schemas before it passes it on.
 *
 *   host ──orders on fd 3──► worker ──orders on a channel──► guest (inside the sandbox)
 *   host ◄─lines on stdout── worker ◄─lines on the channel── guest
 *
 * All are NDJSON, at most 1 MiB a line; an order, which brings the history of a thread, at most 8 MiB. An order that expects
 * an answer has an `id`, and exactly one `computed`, `turned` or `ended` answers it.
 */
import * as z from 'zod/mini';
import { ConfigName as SignalName } from './config-values.ts';
import { ComputeCause, ThreadTrigger } from './resident-causes.ts';
import { ResidentId, ResidentKey, ResidentModule } from './resident-job.ts';
import {
  MAX_COVERED,
  MAX_LOG_CHARACTERS,
  MAX_MODULES,
  MAX_NAME_CHARACTERS,
  MAX_SIGNALS,
} from './resident-limits.ts';
import { RecordedStep, StepOutcome, StepRequest } from './resident-steps.ts';

export const RESIDENT_SCHEMA = 'caisson/resident-lines/1';

const count = () => z.int().check(z.nonnegative());
const ms = () => z.number().check(z.nonnegative());
const detail = () => z.string().check(z.maxLength(8192));
const name = () => z.string().check(z.minLength(1), z.maxLength(MAX_NAME_CHARACTERS));
const computeId = name;
/** What led to a compute, sealed by the host: the guest gives it back as it is, with what it emitted. */
const origin = () => z.string().check(z.maxLength(64 * 1024));

/** First line of a resident worker. */
export const ResidentHeader = z.object({
  schema: z.literal(RESIDENT_SCHEMA),
  resident: ResidentId,
  key: ResidentKey,
  nonce: z.string(),
});
export type ResidentHeader = z.infer<typeof ResidentHeader>;

/** One result of a role. */
export const ThreadMessage = z.object({ round: count(), role: name(), content: z.unknown() });
export type ThreadMessage = z.infer<typeof ThreadMessage>;

/** To the guest. */
export const GUEST_ORDERS = {
  /** From the worker alone, first: what the guest serves. */
  load: z.object({
    kind: z.literal('load'),
    serves: z.enum(['senses', 'workflow']),
    modules: z.array(ResidentModule),
    /** Folders from which no code is loaded. */
    writable: z.array(z.string()),
    projectRoot: z.string(),
    stateFolder: z.string(),
    /** For each file; one that takes longer is not served. */
    loadMs: ms(),
    /** A turn whose code does not give its thread back for so long is ended. */
    silenceMs: ms(),
    /** The largest heap of one thread. */
    heapBytes: z.number(),
    /** Turns at the same time; others wait. */
    maxTurns: count(),
  }),
  /** Asks for one compute of a sense. */
  compute: z.object({
    kind: z.literal('compute'),
    id: z.string(),
    name: name(),
    /** The same when the compute is repeated: one that is over already is not made again. */
    computeId: computeId(),
    /** Others that need not be made once this one is over: they were joined with it. */
    covers: z.optional(z.array(computeId()).check(z.maxLength(MAX_COVERED))),
    cause: ComputeCause,
    origin: origin(),
    timeoutMs: ms(),
    graceMs: ms(),
  }),
  /** Asks for the next message of a thread: the router chooses the role, and the role makes it. */
  turn: z.object({
    kind: z.literal('turn'),
    id: z.string(),
    threadId: z.string(),
    round: count(),
    trigger: ThreadTrigger,
    payload: z.unknown(),
    messages: z.array(ThreadMessage),
    steps: z.array(RecordedStep),
    graceMs: ms(),
  }),
  /** The outcome of a step. */
  'step-done': z.object({
    kind: z.literal('step-done'),
    id: z.string(),
    ordinal: count(),
    ...StepOutcome.shape,
  }),
  /** What these computes of a sense emitted is recorded: the guest forgets it. */
  delivered: z.object({
    kind: z.literal('delivered'),
    name: name(),
    computeIds: z.array(computeId()).check(z.maxLength(256)),
  }),
  /** Gives up a compute or a turn: its signal is aborted, then its thread is ended. */
  abandon: z.object({ kind: z.literal('abandon'), id: z.string(), why: z.string(), graceMs: ms() }),
  /** From the worker alone: the guest answers with `pong`. */
  ping: z.object({ kind: z.literal('ping'), at: z.number() }),
} as const;
export type GuestOrder = z.infer<(typeof GUEST_ORDERS)[keyof typeof GUEST_ORDERS]>;

/** To the worker: what it passes on, and what is for itself. */
export const RESIDENT_ORDERS = {
  compute: GUEST_ORDERS.compute,
  turn: GUEST_ORDERS.turn,
  'step-done': GUEST_ORDERS['step-done'],
  delivered: GUEST_ORDERS.delivered,
  abandon: GUEST_ORDERS.abandon,
  /** Ends when nothing is under way, at the latest after the grace. Nothing new is accepted. */
  stop: z.object({ kind: z.literal('stop'), graceMs: ms() }),
} as const;
export type ResidentOrder = z.infer<(typeof RESIDENT_ORDERS)[keyof typeof RESIDENT_ORDERS]>;

/** Why user code gave no result. `crashed`: the process that ran it ended. */
export const GuestFailure = z.object({
  kind: z.enum(['threw', 'timeout', 'exited', 'memory', 'invalid', 'aborted', 'crashed', 'changed']),
  detail: detail(),
});
export type GuestFailure = z.infer<typeof GuestFailure>;

export const EmittedSignal = z.object({ name: SignalName, payload: z.unknown() });
export type EmittedSignal = z.infer<typeof EmittedSignal>;

/** From the guest. */
export const GUEST_LINES = {
  /**
   * Its files were tried; `problem` where one could not be loaded, which gets no work then. One that takes long `isLoading`, and
   * `loaded` follows: the others need not wait for it.
   */
  ready: z.object({
    kind: z.literal('ready'),
    modules: z
      .array(z.object({ name: name(), problem: z.optional(detail()), isLoading: z.optional(z.boolean()) }))
      .check(z.maxLength(MAX_MODULES)),
  }),
  loaded: z.object({ kind: z.literal('loaded'), name: name(), problem: z.optional(detail()) }),
  pong: z.object({ kind: z.literal('pong'), at: z.number() }),
  computed: z.object({
    kind: z.literal('computed'),
    id: z.string(),
    durationMs: ms(),
    /** What it emitted; empty after a failure. */
    signals: z.array(EmittedSignal).check(z.maxLength(MAX_SIGNALS)),
    failure: z.optional(GuestFailure),
  }),
  /** What a compute emitted whose host did not say `delivered`; when a file is loaded. */
  undelivered: z.object({
    kind: z.literal('undelivered'),
    name: name(),
    computeId: computeId(),
    origin: origin(),
    signals: z.array(EmittedSignal).check(z.maxLength(MAX_SIGNALS)),
  }),
  step: z.object({ kind: z.literal('step'), id: z.string(), ordinal: count(), request: StepRequest }),
  /** The user's own code of a step is over: with its value, or what it threw. */
  worked: z.object({
    kind: z.literal('worked'),
    id: z.string(),
    ordinal: count(),
    ok: z.boolean(),
    value: z.unknown(),
  }),
  turned: z.object({
    kind: z.literal('turned'),
    id: z.string(),
    outcome: z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('message'), role: name(), content: z.unknown() }),
      /** The router named no role: the thread is done. */
      z.object({ kind: z.literal('end') }),
      z.object({ kind: z.literal('failed'), role: z.optional(name()), failure: GuestFailure }),
    ]),
  }),
  logged: z.object({
    kind: z.literal('logged'),
    name: name(),
    text: z.string().check(z.maxLength(MAX_LOG_CHARACTERS)),
    threadId: z.optional(z.string()),
  }),
} as const;
export type GuestLine = z.infer<(typeof GUEST_LINES)[keyof typeof GUEST_LINES]>;

/** How a resident worker ended. */
export const ResidentEnding = z.object({
  why: z.enum([
    'stopped',
    'exited',
    'signal',
    'memory',
    'disk',
    'protocol',
    'unresponsive',
    'not-ready',
    'not-started',
    'worker-died',
  ]),
  detail: detail(),
  /** The end of what the user's code printed as errors. */
  stderrTail: z.string().check(z.maxLength(8192)),
});
export type ResidentEnding = z.infer<typeof ResidentEnding>;

/** From the worker. */
export const RESIDENT_LINES = {
  ready: GUEST_LINES.ready,
  loaded: GUEST_LINES.loaded,
  computed: GUEST_LINES.computed,
  undelivered: GUEST_LINES.undelivered,
  step: GUEST_LINES.step,
  worked: GUEST_LINES.worked,
  turned: GUEST_LINES.turned,
  logged: GUEST_LINES.logged,
  /** The worker lives, and so does its guest. Every 5 s. */
  beat: z.object({ kind: z.literal('beat'), memoryBytes: count() }),
  /** Log lines that were not passed on, because there were too many. */
  'log-dropped': z.object({ kind: z.literal('log-dropped'), lines: count() }),
  /** Its last line. */
  ended: z.object({ kind: z.literal('ended'), ending: ResidentEnding }),
} as const;
export type ResidentLine = z.infer<(typeof RESIDENT_LINES)[keyof typeof RESIDENT_LINES]>;
