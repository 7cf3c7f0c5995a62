/**
 * Every topic of the bus and its payload, in this one file: a changed shape breaks the compile of every emitter and
 * listener. Only the owner named at a topic emits on it. Raw topic strings are used nowhere else.
 */
import * as z from 'zod/mini';

import { RunStatus } from './dispatch-result.ts';
import { Failure } from './failure.ts';
import { RunId, Sha256, Timestamp } from './ids.ts';
import { Usage } from './result.ts';
import { HealthState } from './run-events.ts';
import { HeartbeatCounters } from './worker-lines.ts';

export const BusTopic = {
  /** Owner: dispatch. */
  RUN_STARTED: 'caisson:run-started',
  /** Owner: dispatch. */
  RUN_FINISHED: 'caisson:run-finished',
  /** Owner: dispatch. */
  WORKER_PROGRESS: 'caisson:worker-progress',
  /** Owner: dispatch. */
  WORKER_HEARTBEAT: 'caisson:worker-heartbeat',
  /** Owner: dispatch. */
  SHUTDOWN_DRAINING: 'caisson:shutdown-draining',
  /** Owner: supervision. */
  WORKER_HEALTH_CHANGED: 'caisson:worker-health-changed',
  /** Owner: budget. */
  BUDGET_UPDATED: 'caisson:budget-updated',
  /** Owner: dispatch, its prepare stage. */
  PROMPT_COMPILED: 'caisson:prompt-compiled',
  /** Owner: config. A setting differs from the last reading; what is open keeps its values. */
  CONFIG_CHANGED: 'caisson:config-changed',
  /** Owner: discovery. A caller asked which agent programs are installed. */
  RUNTIMES_DISCOVERED: 'caisson:runtimes-discovered',
  /** A runtime adapter's event, forwarded. */
  COMPACTION_STARTED: 'caisson:compaction-started',
  /** Owner: session. */
  SESSION_RESET: 'caisson:session-reset',
  /** Owner: residents. The keys whose files or settings changed; each goes on with the new version if it loads. */
  EXTENSIONS_RELOADED: 'caisson:extensions-reloaded',
  /** Anyone may warn. */
  WARNING: 'caisson:warning',
} as const;
export type BusTopic = (typeof BusTopic)[keyof typeof BusTopic];

const count = () => z.int().check(z.nonnegative());

const RunStarted = z.object({
  runId: RunId,
  attempt: z.int(),
  at: Timestamp,
  task: z.string(),
  runtime: z.string(),
  agent: z.optional(z.string()),
  model: z.optional(z.string()),
});
const RunFinished = z.object({
  runId: RunId,
  attempt: z.int(),
  at: Timestamp,
  status: RunStatus,
  durationMs: z.number(),
  agent: z.optional(z.string()),
  failure: z.optional(Failure),
  usage: z.optional(Usage),
});
const WorkerProgress = z.object({
  runId: RunId,
  attempt: z.int(),
  at: Timestamp,
  phase: z.string(),
  message: z.optional(z.string()),
  currentTool: z.optional(z.nullable(z.string())),
  /** The last tools that were called, the newest last. */
  recentTools: z.optional(z.array(z.string())),
  turns: z.optional(count()),
  toolCalls: z.optional(count()),
  tokensIn: z.optional(count()),
  tokensOut: z.optional(count()),
  costUsd: z.optional(z.number()),
});
const WorkerHeartbeat = z.object({
  runId: RunId,
  attempt: z.int(),
  at: Timestamp,
  counters: HeartbeatCounters,
});
const WorkerHealthChanged = z.object({
  runId: RunId,
  attempt: z.int(),
  at: Timestamp,
  previous: HealthState,
  current: HealthState,
});
const BudgetUpdated = z.object({
  /** `run`, `session` or `day`, and which one. */
  scope: z.enum(['run', 'session', 'day']),
  scopeId: z.string(),
  spentUsd: z.number(),
  reservedUsd: z.number(),
  ceilingUsd: z.nullable(z.number()),
  runCount: count(),
  tokensIn: count(),
  tokensOut: count(),
});
const PromptCompiled = z.object({
  role: z.string(),
  tier: z.string(),
  mode: z.string(),
  estimatedTokens: count(),
  fragmentCount: count(),
  hash: Sha256,
});
const ConfigChanged = z.object({ key: z.string(), previous: z.unknown(), new: z.unknown() });
const RuntimesDiscovered = z.object({
  runtimes: z.array(z.object({ name: z.string(), version: z.nullable(z.string()), path: z.string() })),
});
const CompactionStarted = z.object({ runId: RunId, attempt: z.int(), reason: z.optional(z.string()) });
const ExtensionsReloaded = z.object({ changed: z.array(z.string()) });
/** Without `runId`, a warning of the host itself; with it, one from the run's own record. */
const Warning = z.object({ source: z.string(), message: z.string(), runId: z.optional(z.string()) });

/** The schema of each topic's payload, for code that sends it to another process. */
export const BusPayloadSchemas = {
  [BusTopic.RUN_STARTED]: RunStarted,
  [BusTopic.RUN_FINISHED]: RunFinished,
  [BusTopic.WORKER_PROGRESS]: WorkerProgress,
  [BusTopic.WORKER_HEARTBEAT]: WorkerHeartbeat,
  [BusTopic.SHUTDOWN_DRAINING]: z.object({ deadlineAt: z.optional(Timestamp) }),
  [BusTopic.WORKER_HEALTH_CHANGED]: WorkerHealthChanged,
  [BusTopic.BUDGET_UPDATED]: BudgetUpdated,
  [BusTopic.PROMPT_COMPILED]: PromptCompiled,
  [BusTopic.CONFIG_CHANGED]: ConfigChanged,
  [BusTopic.RUNTIMES_DISCOVERED]: RuntimesDiscovered,
  [BusTopic.COMPACTION_STARTED]: CompactionStarted,
  [BusTopic.SESSION_RESET]: z.object({ session: z.optional(z.string()) }),
  [BusTopic.EXTENSIONS_RELOADED]: ExtensionsReloaded,
  [BusTopic.WARNING]: Warning,
} as const satisfies Record<BusTopic, z.ZodMiniType>;

/** The payload of each topic. */
export type BusPayloads = { [T in BusTopic]: z.infer<(typeof BusPayloadSchemas)[T]> };
