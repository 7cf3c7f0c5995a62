/**
 * Every durable event, once. An event is a past-tense fact; what is not in the manifest cannot be appended.
 */
import * as z from 'zod/mini';
import { Failure } from './failure.ts';
import { Grant } from './grant.ts';
import { Sha256, Timestamp } from './ids.ts';
import { Denial, Usage } from './result.ts';
import { HeartbeatCounters } from './worker-lines.ts';

export interface EventDefinition<T extends string = string, S extends z.ZodMiniType = z.ZodMiniType> {
  readonly type: T;
  readonly version: number;
  readonly durable: boolean;
  readonly summary: string;
  readonly data: S;
}

const manifest = new Map<string, EventDefinition>();

/** Adds an event to the manifest. A second definition of the same type is a bug and throws. */
export function defineEvent<T extends string, S extends z.ZodMiniType>(
  definition: EventDefinition<T, S>,
): EventDefinition<T, S> {
  if (manifest.has(definition.type)) throw new Error(`the event ${definition.type} is defined twice`);
  manifest.set(definition.type, definition);
  return definition;
}

/** All events by type. */
export function eventManifest(): ReadonlyMap<string, EventDefinition> {
  return manifest;
}

const Resolved = z.object({
  agent: z.optional(z.object({ name: z.string(), hash: Sha256 })),
  capabilities: z.array(z.object({ name: z.string(), hash: Sha256 })),
  env: z.array(z.object({ name: z.string(), hash: Sha256 })),
  pipeline: z.optional(z.object({ id: z.string(), hash: Sha256 })),
  model: z.object({ requested: z.string(), served: z.array(z.string()) }),
});
export type Resolved = z.infer<typeof Resolved>;
export { Resolved as ResolvedNames };

export const DispatchAccepted = defineEvent({
  type: 'dispatch.accepted',
  version: 1,
  durable: true,
  summary: 'Names are resolved to hashes and admission passed. No worker yet.',
  data: z.object({
    task: z.looseObject({ id: z.string(), description: z.string(), priority: z.int() }),
    runtime: z.string(),
    runtimeInfo: z.optional(
      z.object({ version: z.nullable(z.string()), bin: z.string(), adapter: z.nullable(Sha256) }),
    ),
    agent: z.optional(z.string()),
    host: z.string(),
    /** Whose slots it waits for: those of the project, or of its depth below a parent. */
    pool: z.optional(z.string()),
    session: z.optional(z.string()),
    idempotencyKey: z.optional(z.string()),
    continues: z.optional(z.string()),
    grant: Grant,
    resolved: Resolved,
    /** The request as it can be asked for again, in the store. */
    requestRef: z.optional(Sha256),
    /** What else went in, by digest: the evidence manifest is made of it. */
    inputs: z.optional(z.array(z.object({ key: z.string(), sha256: Sha256 }))),
    envNames: z.optional(z.array(z.string())),
    prompts: z.optional(z.object({ system: z.optional(Sha256), user: Sha256 })),
    pipeline: z.optional(z.object({ id: z.string(), hash: Sha256 })),
    rulesHash: z.optional(Sha256),
    credential: z.optional(z.enum(['none', 'broker', 'inside'])),
    reservedUsd: z.optional(z.number()),
  }),
});
export const DispatchStarted = defineEvent({
  type: 'dispatch.started',
  version: 1,
  durable: true,
  summary:
    'The worker is up, its echoed grant matched and inputs are verified. Nothing of the agent has run.',
  data: z.object({ grant: Grant }),
});
export const DispatchFinished = defineEvent({
  type: 'dispatch.finished',
  version: 1,
  durable: true,
  summary: 'The pipeline is sealed and no question was left.',
  data: terminal({}),
});
export const DispatchNeedsInput = defineEvent({
  type: 'dispatch.needs_input',
  version: 1,
  durable: true,
  summary: 'The agent left a valid question; it is durable.',
  data: terminal({ questionId: z.string() }),
});
export const DispatchFailed = defineEvent({
  type: 'dispatch.failed',
  version: 1,
  durable: true,
  summary: 'Everything else, with its failure.',
  data: terminal({ failure: Failure }),
});
export const DispatchCancelled = defineEvent({
  type: 'dispatch.cancelled',
  version: 1,
  durable: true,
  summary: 'A cancel was honoured.',
  data: terminal({ cause: z.enum(['user', 'shutdown']) }),
});

function terminal<T extends z.core.$ZodShape>(extra: T) {
  return z.object({
    durationMs: z.number(),
    exitCode: z.optional(z.nullable(z.int())),
    resultRef: z.optional(Sha256),
    patchRef: z.optional(Sha256),
    usage: z.optional(Usage),
    costUsd: z.optional(z.number()),
    checkpoint: z.optional(z.object({ ref: z.string(), commit: z.string(), tree: z.string() })),
    ...extra,
  });
}

/** The one terminal set. */
export const TERMINAL_TYPES = [
  'dispatch.finished',
  'dispatch.needs_input',
  'dispatch.failed',
  'dispatch.cancelled',
] as const;
export type TerminalType = (typeof TERMINAL_TYPES)[number];
export const LIFECYCLE_TYPES = ['dispatch.accepted', 'dispatch.started', ...TERMINAL_TYPES] as const;

export function isTerminal(type: string): type is TerminalType {
  return (TERMINAL_TYPES as readonly string[]).includes(type);
}

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
    usage: z.optional(Usage),
    costUsd: z.optional(z.number()),
  }),
});
export const RunStalled = defineEvent({
  type: 'run.stalled',
  version: 1,
  durable: true,
  summary: 'The run makes no progress, and this is what it waits for.',
  data: z.object({
    reason: z.enum([
      'waiting-stdin',
      'waiting-permission',
      'in-tool',
      'model-silent',
      'spinning',
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
export const QuestionAsked = defineEvent({
  type: 'question.asked',
  version: 1,
  durable: true,
  summary: 'A durable question exists.',
  data: z.object({
    questionId: z.string(),
    text: z.string(),
    options: z.optional(z.array(z.string())),
    context: z.optional(z.unknown()),
    partialState: z.optional(z.unknown()),
    deadlineAt: z.optional(Timestamp),
  }),
});
export const QuestionAnswered = defineEvent({
  type: 'question.answered',
  version: 1,
  durable: true,
  summary: 'A question was answered, once.',
  data: z.object({ questionId: z.string(), answer: z.string(), continuedBy: z.optional(z.string()) }),
});
export const QuestionExpired = defineEvent({
  type: 'question.expired',
  version: 1,
  durable: true,
  summary: "A question's deadline passed without an answer.",
  data: z.object({ questionId: z.string() }),
});
export const ApprovalRequested = defineEvent({
  type: 'approval.requested',
  version: 1,
  durable: true,
  summary: 'A tool call is held until somebody decides.',
  data: z.object({
    approvalId: z.string(),
    tool: z.string(),
    what: z.string(),
    actionClass: z.string(),
    deadlineAt: Timestamp,
  }),
});
export const ApprovalDecided = defineEvent({
  type: 'approval.decided',
  version: 1,
  durable: true,
  summary: 'A held tool call was allowed or denied.',
  data: z.object({
    approvalId: z.string(),
    decision: z.enum(['allow', 'deny']),
    by: z.enum(['user', 'deadline', 'ending']),
  }),
});
export const PolicyDenied = defineEvent({
  type: 'policy.denied',
  version: 1,
  durable: true,
  summary: 'A layer stopped something.',
  data: z.object({ denial: Denial }),
});
export const NetworkConnected = defineEvent({
  type: 'network.connection',
  version: 1,
  durable: true,
  summary: 'One connection through the proxy or the broker.',
  data: z.object({
    via: z.enum(['connect', 'http', 'broker']),
    target: z.string(),
    verdict: z.enum(['allowed', 'denied', 'failed']),
    detail: z.optional(z.string()),
    bytesUp: z.int(),
    bytesDown: z.int(),
    durationMs: z.number(),
  }),
});
export const MessageSent = defineEvent({
  type: 'channel.sent',
  version: 1,
  durable: true,
  summary: 'A message was handed to the running worker.',
  data: z.object({ messageId: z.string(), body: z.string() }),
});
export const MessageReceived = defineEvent({
  type: 'channel.received',
  version: 1,
  durable: true,
  summary: 'The worker put the message where the agent can read it.',
  data: z.object({ messageId: z.string() }),
});
export const CancelRequested = defineEvent({
  type: 'cancel.requested',
  version: 1,
  durable: true,
  summary: 'Somebody asked for the run to stop.',
  data: z.object({ by: z.string(), force: z.boolean() }),
});
export const EvidenceSealed = defineEvent({
  type: 'evidence.sealed',
  version: 1,
  durable: true,
  summary: 'The manifest, the chain and the result are bound by a signature.',
  data: z.object({ envelopeRef: Sha256, manifestRef: Sha256, keyId: z.string() }),
});
export const CallbackDelivered = defineEvent({
  type: 'callback.delivered',
  version: 1,
  durable: true,
  summary: 'An endpoint took a lifecycle event.',
  data: z.object({ url: z.string(), event: z.string(), status: z.int(), tries: z.int() }),
});
export const CallbackFailed = defineEvent({
  type: 'callback.failed',
  version: 1,
  durable: true,
  summary: 'An endpoint did not take a lifecycle event, and no try is left.',
  data: z.object({ url: z.string(), event: z.string(), detail: z.string(), tries: z.int() }),
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
export const ScriptRan = defineEvent({
  type: 'script.ran',
  version: 1,
  durable: true,
  summary: 'A setup, gate, verify or clean-room command ran.',
  data: z.looseObject({ lens: z.string(), exitCode: z.nullable(z.int()), durationMs: z.number() }),
});
export const AgentRan = defineEvent({
  type: 'runtime.adapter.ran',
  version: 1,
  durable: true,
  summary: 'The agent program ran and ended.',
  data: z.looseObject({ exitCode: z.nullable(z.int()), durationMs: z.number() }),
});
export const CaptureDone = defineEvent({
  type: 'capture.done',
  version: 1,
  durable: true,
  summary: 'A patch or outputs were captured.',
  data: z.object({ what: z.string(), files: z.int(), bytes: z.int() }),
});
export const PromptCompiled = defineEvent({
  type: 'prompt.compiled',
  version: 1,
  durable: true,
  summary: 'The prompts of the run were put together.',
  data: z.object({
    role: z.string(),
    tier: z.string(),
    mode: z.string(),
    estimatedTokens: z.int(),
    fragmentCount: z.int(),
    hash: Sha256,
  }),
});
export const RunForgotten = defineEvent({
  type: 'run.forgotten',
  version: 1,
  durable: true,
  summary: "The run's contents were taken away on request; that it happened stays.",
  data: z.object({}),
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

/** The envelope of an event wherever it is shown; data fields stand beside it. */
export const EventEnvelope = z.looseObject({
  type: z.string(),
  version: z.int(),
  runId: z.nullable(z.string()),
  attempt: z.int(),
  seq: z.int(),
  offset: z.int(),
  at: Timestamp,
  trace: z.string(),
});
export type EventEnvelope = z.infer<typeof EventEnvelope>;
