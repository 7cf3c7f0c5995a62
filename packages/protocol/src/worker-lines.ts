/**
 * The two wires between host and worker. Down, on fd 3: control. Up, on stdout and in the events file: lines with
 * `kind` and their own `seq`.
 */
import * as z from 'zod/mini';
import { Failure } from './failure.ts';
import { Grant } from './grant.ts';
import { RunId, Timestamp } from './ids.ts';
import { connectionFields, modelCallFields, ObservedUsage } from './observed-network.ts';
import { Denial } from './result.ts';

export const WORKER_SCHEMA = 'caisson/worker-events/1';

/** First line of every worker: the grant it applied, for the host to compare. */
export const WorkerHeader = z.object({
  schema: z.literal(WORKER_SCHEMA),
  runId: RunId,
  attempt: z.int(),
  grant: Grant,
});
export type WorkerHeader = z.infer<typeof WorkerHeader>;

export const ControlMessage = z.discriminatedUnion('kind', [
  /** To a worker that was started in advance: the environment that it would have been started with. */
  z.object({ kind: z.literal('assign'), cwd: z.string(), env: z.record(z.string(), z.string()) }),
  z.object({ kind: z.literal('go') }),
  z.object({
    kind: z.literal('stop'),
    reason: z.enum([
      'user',
      'shutdown',
      'timeout',
      'budget',
      'stalled',
      'failed-answers',
      'no-connection',
      'loop',
      'interrupt',
      'disk',
    ]),
    graceMs: z.int(),
    detail: z.optional(z.string()),
  }),
  z.object({ kind: z.literal('message'), id: z.string(), body: z.string() }),
  z.object({ kind: z.literal('reply'), id: z.string(), ok: z.boolean(), value: z.optional(z.unknown()) }),
]);
export type ControlMessage = z.infer<typeof ControlMessage>;

const count = () => z.int().check(z.nonnegative());
const base = { seq: z.int(), at: Timestamp };

const ScriptRan = {
  command: z.string(),
  exitCode: z.nullable(z.int()),
  timedOut: z.boolean(),
  durationMs: z.number(),
  stdout: z.string(),
  stderr: z.string(),
};

/** Counters since the last beat, and totals that distinguish a live agent from a stuck one. */
export const HeartbeatCounters = z.object({
  turns: count(),
  toolCalls: count(),
  tokensIn: count(),
  tokensOut: count(),
  cpuMs: z.number(),
  /** What the agent's processes have in memory now; what they share is counted in each. Absent in earlier versions. */
  memoryBytes: z.optional(count()),
  bytes: count(),
  currentTool: z.nullable(z.string()),
  /** What the agent's processes wait for; `stopped` by a signal, `pipe-open` if only the agent ended. */
  waiting: z.nullable(z.enum(['stdin', 'permission', 'tool', 'stopped', 'pipe-open'])),
});
export type HeartbeatCounters = z.infer<typeof HeartbeatCounters>;

/** What the worker is doing, and its counts so far. */
export const progressFields = () => ({
  phase: z.enum(['setup', 'agent', 'capture', 'script']),
  message: z.optional(z.string()),
  tool: z.optional(z.nullable(z.string())),
  turns: z.optional(count()),
  toolCalls: z.optional(count()),
  tokensIn: z.optional(count()),
  tokensOut: z.optional(count()),
  cacheReadTokens: z.optional(count()),
  cacheWriteTokens: z.optional(count()),
  costUsd: z.optional(z.number()),
  model: z.optional(z.string()),
  sessionId: z.optional(z.string()),
});

/** The largest JSON of one event about the agent's work, and the most of them that an attempt records. */
export const MAX_WORK_EVENT_BYTES = 4096;
export const MAX_WORK_EVENTS = 2000;

const short = () => z.string().check(z.maxLength(256));
const long = () => z.string().check(z.maxLength(MAX_WORK_EVENT_BYTES));

/** A tool call begins; `what` is its command, its file, or its whole input. */
export const toolStartedFields = () => ({ callId: short(), tool: short(), what: long() });

/** How it ended; `detail` is the end of what a failed call printed. */
export const toolEndedFields = () => ({
  callId: short(),
  tool: short(),
  ok: z.boolean(),
  durationMs: z.number(),
  detail: z.optional(long()),
});

/** What the agent said. `isWaiting`: it reports that it waits or tries again. `cutBytes`: so much more followed. */
export const agentSaidFields = () => ({
  text: long(),
  isWaiting: z.optional(z.literal(true)),
  cutBytes: z.optional(count()),
});

/** How much a program printed, and how it began and ended. */
export const PrintedEnds = z.object({ bytes: count(), head: z.string(), tail: z.string() });

/** The lines of a worker, by kind: only the needed schema is built. */
export const WORKER_LINES = {
  'worker.boot': z.object({ kind: z.literal('worker.boot'), ...base, pid: z.int(), startTime: z.string() }),
  /** Job, adapter and inputs are as they should be; the worker waits for `go`. */
  'worker.ready': z.object({ kind: z.literal('worker.ready'), ...base }),
  'sandbox.started': z.object({
    kind: z.literal('sandbox.started'),
    ...base,
    purpose: z.enum(['agent', 'setup', 'script', 'clean-room']),
    pid: z.int(),
    startTime: z.string(),
    enforced: z.record(z.string(), z.unknown()),
  }),
  heartbeat: z.object({ kind: z.literal('heartbeat'), ...base, counters: HeartbeatCounters }),
  progress: z.object({
    kind: z.literal('progress'),
    ...base,
    ...progressFields(),
  }),
  'tool.started': z.object({ kind: z.literal('tool.started'), ...base, ...toolStartedFields() }),
  'tool.ended': z.object({ kind: z.literal('tool.ended'), ...base, ...toolEndedFields() }),
  'agent.said': z.object({ kind: z.literal('agent.said'), ...base, ...agentSaidFields() }),
  compaction: z.object({
    kind: z.literal('compaction'),
    ...base,
    /** Why the agent did it, in its own word; absent where it does not say. */
    reason: z.optional(z.string()),
  }),
  request: z.object({
    kind: z.literal('request'),
    ...base,
    id: z.string(),
    request: z.enum(['ask', 'dispatch', 'approve']),
    body: z.record(z.string(), z.unknown()),
  }),
  'setup-script.ran': z.object({
    kind: z.literal('setup-script.ran'),
    ...base,
    /** Where it ran, if that was not the workspace. */
    room: z.optional(z.literal('clean-room')),
    ...ScriptRan,
  }),
  'runtime.adapter.ran': z.object({
    kind: z.literal('runtime.adapter.ran'),
    ...base,
    exitCode: z.nullable(z.int()),
    signal: z.nullable(z.string()),
    durationMs: z.number(),
    stdout: PrintedEnds,
    stderr: PrintedEnds,
  }),
  'script.ran': z.object({
    kind: z.literal('script.ran'),
    ...base,
    ordinal: count(),
    lens: z.enum(['gate', 'verify', 'clean-room']),
    ...ScriptRan,
  }),
  'verify.ran': z.object({
    kind: z.literal('verify.ran'),
    ...base,
    passed: z.boolean(),
    durationMs: z.number(),
  }),
  'capture.done': z.object({
    kind: z.literal('capture.done'),
    ...base,
    what: z.enum(['patch', 'outputs']),
    files: count(),
    bytes: count(),
  }),
  'network.connection': z.object({ kind: z.literal('network.connection'), ...base, ...connectionFields() }),
  /** Without its cost: the host knows the prices. */
  'model.called': z.object({ kind: z.literal('model.called'), ...base, ...modelCallFields() }),
  /** All that the broker has seen so far; the newest line counts. */
  'model.usage': z.object({ kind: z.literal('model.usage'), ...base, usage: ObservedUsage }),
  'policy.denied': z.object({ kind: z.literal('policy.denied'), ...base, denial: Denial }),
  'channel.received': z.object({ kind: z.literal('channel.received'), ...base, id: z.string() }),
  warning: z.object({ kind: z.literal('warning'), ...base, source: z.string(), message: z.string() }),
  'dispatch.finished': z.object({ kind: z.literal('dispatch.finished'), ...base, durationMs: z.number() }),
  'dispatch.needs_input': z.object({
    kind: z.literal('dispatch.needs_input'),
    ...base,
    durationMs: z.number(),
  }),
  'dispatch.failed': z.object({
    kind: z.literal('dispatch.failed'),
    ...base,
    durationMs: z.number(),
    failure: Failure,
  }),
  'dispatch.cancelled': z.object({
    kind: z.literal('dispatch.cancelled'),
    ...base,
    durationMs: z.number(),
    cause: z.enum(['user', 'shutdown']),
  }),
};
export type WorkerLineKind = keyof typeof WORKER_LINES;
export type WorkerLine = z.infer<(typeof WORKER_LINES)[WorkerLineKind]>;
/** A line as the worker's code writes it: number and time are added by the writer. */
export type WorkerSaying = WorkerLine extends infer L
  ? L extends WorkerLine
    ? Omit<L, 'seq' | 'at'>
    : never
  : never;

/** A line, or why the value is none; `seq` where that can be read. */
export type ReadLine =
  | { readonly line: WorkerLine; readonly seq: number }
  | { readonly line: null; readonly problem: string; readonly seq: number | null };

export function parseWorkerLine(value: unknown): ReadLine {
  const { kind, seq } = (value ?? {}) as { kind?: unknown; seq?: unknown };
  const found = Number.isSafeInteger(seq) ? (seq as number) : null;
  if (typeof kind !== 'string' || !Object.hasOwn(WORKER_LINES, kind))
    return { line: null, problem: 'unknown-kind', seq: found };
  const { data, error } = WORKER_LINES[kind as WorkerLineKind].safeParse(value);
  if (data !== undefined) return { line: data, seq: data.seq };
  const problems = error.issues.map(({ path, code }) => `${path.join('.')} (${code})`);
  return { line: null, problem: `${kind} does not fit: ${problems.join(', ')}`, seq: found };
}
