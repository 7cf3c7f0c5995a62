/** What answers of the routes have that only the engine has a type for: for the description of the API. */
import {
  BoardCell,
  Failure,
  ListedRisk,
  LiveRun,
  RunPush,
  RunStatus,
  Timestamp,
  WaitsFor,
} from '@caisson/protocol';
import * as z from 'zod/mini';

const flag = () => z.optional(z.literal(true));
const texts = () => z.array(z.string());

/** A row of `GET /v1/runs`. */
export const ListedRunAnswer = z.object({
  runId: z.string(),
  status: RunStatus,
  priority: z.number(),
  pool: z.optional(z.string()),
  acceptedOffset: z.int(),
  acceptedAt: Timestamp,
  startedAt: z.optional(Timestamp),
  endedAt: z.optional(Timestamp),
  attempt: z.int(),
  lastSeq: z.int(),
  host: z.string(),
  epoch: z.optional(z.int()),
  session: z.optional(z.string()),
  idempotencyKey: z.optional(z.string()),
  continues: z.optional(z.string()),
  continuedBy: z.optional(z.string()),
  description: z.string(),
  runtime: z.optional(z.string()),
  agent: z.optional(z.string()),
  ending: z.optional(z.string()),
  cause: z.optional(z.string()),
  durationMs: z.optional(z.number()),
  failure: z.optional(Failure),
  costUsd: z.optional(z.number()),
  costIsEstimate: flag(),
  unsealed: flag(),
  appliedAt: z.optional(Timestamp),
  appliedWithConflicts: flag(),
  forgottenAt: z.optional(Timestamp),
  pushes: z.optional(z.boolean()),
  waitingBranch: z.optional(z.enum(['pending', 'failed', 'kept', 'late', 'held'])),
  worker: z.optional(
    z.object({
      pool: z.string(),
      branch: z.optional(z.string()),
      drainedAt: z.optional(z.string()),
    }),
  ),
  position: z.optional(z.int()),
  checkPassed: z.optional(z.boolean()),
  hasWork: z.optional(z.boolean()),
  live: z.optional(LiveRun),
  waitsFor: z.optional(WaitsFor),
});

export const SessionAnswer = z.object({
  name: z.string(),
  boardKeys: z.int(),
  findings: z.int(),
  changedAt: Timestamp,
});

export const BoardEntryAnswer = z.object({ ...BoardCell.shape, namespace: z.string(), key: z.string() });

export const ApprovalAnswer = z.object({
  approvalId: z.string(),
  runId: z.string(),
  tool: z.string(),
  what: z.string(),
  actionClass: z.string(),
  requestedAt: Timestamp,
  requestedOffset: z.int(),
  deadlineAt: Timestamp,
  status: z.enum(['open', 'allowed', 'denied']),
  requestId: z.optional(z.string()),
  by: z.optional(z.string()),
});

/** `call` is null where only `what` was recorded: by a version before it, or of a run that was forgotten. */
export const WholeApprovalAnswer = z.object({
  ...ApprovalAnswer.shape,
  call: z.nullable(z.object({ text: z.string(), leftOut: z.int() })),
});

export const SpendAnswer = z.object({
  runId: z.string(),
  session: z.nullable(z.string()),
  day: z.string(),
  costUsd: z.nullable(z.number()),
  unknownCosts: z.int(),
  estimatedCosts: z.optional(z.int()),
  inputTokens: z.int(),
  outputTokens: z.int(),
  tokens: z.int(),
  cacheTokens: z.optional(z.int()),
  turns: z.optional(z.int()),
  toolCalls: z.optional(z.int()),
  agent: z.optional(z.string()),
  runtime: z.optional(z.string()),
  models: z.optional(texts()),
});

const counts = () =>
  z.optional(
    z.object({
      tokens: z.optional(z.number()),
      turns: z.optional(z.number()),
      toolCalls: z.optional(z.number()),
    }),
  );

export const BudgetAnswer = z.object({
  scope: z.enum(['session', 'day']),
  scopeId: z.string(),
  spentUsd: z.number(),
  reservedUsd: z.number(),
  ceilingUsd: z.nullable(z.number()),
  countCaps: counts(),
  countsUsed: counts(),
  unknownCosts: z.int(),
  estimatedCosts: z.int(),
  runCount: z.int(),
  tokensIn: z.int(),
  tokensOut: z.int(),
});

export const Space = z.object({ path: z.string(), bytes: z.number() });

export const UsageAnswer = z.object({
  stateDir: z.string(),
  bytes: z.number(),
  parts: z.array(
    z.object({ ...Space.shape, name: z.string(), what: z.string(), frees: z.nullable(z.string()) }),
  ),
  largest: z.array(Space),
  refs: z.nullable(
    z.object({
      repository: z.string(),
      refs: z.int(),
      bytes: z.nullable(z.number()),
      frees: z.string(),
    }),
  ),
});

const Verdict = z.enum(['ok', 'warn', 'fail']);

const RunRefusal = z.nullable(
  z.object({ check: z.string(), detail: z.string(), remedy: z.optional(z.string()) }),
);
/** What a run with a runtime would use: of findings about runtimes. */
const AgentOutlook = z.looseObject({
  runtime: z.string(),
  isDefault: z.boolean(),
  path: z.nullable(z.string()),
  version: z.nullable(z.string()),
  fit: z.string(),
  refusal: RunRefusal,
});

export const DoctorAnswer = z.object({
  verdict: Verdict,
  probes: z.array(
    z.object({
      id: z.string(),
      verdict: Verdict,
      detail: z.string(),
      remedy: z.optional(z.string()),
      repair: z.optional(z.string()),
      outcome: z.optional(z.string()),
      findings: z.optional(texts()),
      lines: z.optional(texts()),
      refusal: z.optional(RunRefusal),
      agent: z.optional(AgentOutlook),
    }),
  ),
});

export const RuntimeAnswer = z.object({
  name: z.string(),
  title: z.string(),
  kind: z.enum(['program', 'built-in', 'custom']),
  path: z.nullable(z.string()),
  adapter: z.optional(z.string()),
  version: z.nullable(z.string()),
  testedRange: z.nullable(z.object({ from: z.string(), to: z.string() })),
  fit: z.enum(['tested', 'older', 'newer', 'unknown']),
  login: z.string(),
  uses: z.string(),
  reports: z.object({ usage: z.boolean(), cost: z.boolean() }),
  problem: z.nullable(z.string()),
});

/** What became of an apply; `kind` decides which members there are. */
export const ApplyAnswer = z.union([
  z.object({
    kind: z.literal('applied'),
    files: texts(),
    already: z.optional(z.enum(['in-place', 'there'])),
  }),
  z.object({ kind: z.literal('conflicts'), files: texts(), areMarkersLeft: z.boolean() }),
  z.object({ kind: z.literal('dirty'), files: texts() }),
  z.object({
    kind: z.literal('risky'),
    files: texts(),
    risks: z.array(ListedRisk),
    isRefused: z.boolean(),
  }),
  z.object({ kind: z.literal('outside-scope'), files: texts() }),
  z.object({ kind: z.literal('check-failed'), files: texts() }),
  z.object({ kind: z.literal('other-repository'), files: texts(), remote: z.string() }),
]);

export const VerificationAnswer = z.object({
  runId: z.nullable(z.string()),
  keyId: z.nullable(z.string()),
  checks: z.array(
    z.object({ id: z.string(), verdict: z.string(), detail: z.string(), remedy: z.optional(z.string()) }),
  ),
  outcome: z.enum(['ok', 'tampered', 'unsealed', 'incomplete', 'bad-signature', 'no-key']),
});

export const BranchAnswer = z.object({
  runId: z.string(),
  branch: z.string(),
  commit: z.string(),
  status: RunStatus,
  endedAt: Timestamp,
  push: z.optional(RunPush),
  isPushing: flag(),
  unmade: z.optional(z.string()),
});
