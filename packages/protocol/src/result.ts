import * as z from 'zod/mini';
import { CaissonError } from './errors.ts';
import { Failure } from './failure.ts';
import { Grant } from './grant.ts';
import { FoundHandoff } from './handoff.ts';
import { RunId, Sha256 } from './ids.ts';
import { ScriptLens } from './pipeline.ts';
import { ListedRisk, MAX_RISKY_LISTED } from './risky-paths.ts';

const bytes = () => z.int().check(z.nonnegative());
const milliseconds = () => z.number().check(z.nonnegative());

/** The exit status of a run, wherever it is reported. */
export const reportedExitCode = () =>
  z
    .nullable(z.int())
    .check(
      z.describe(
        'Exit status of the agent, or of the setup script or gate that failed. Never 0 for a failed run: null if what failed has no exit status, such as a budget or a question that cannot be read. The exit status of each part is in blocks.',
      ),
    );

/** Bytes that were captured: digest, size, and whether the cap cut them. */
export const CapturedStream = z.object({ ref: Sha256, bytes: bytes(), truncated: z.boolean() });
export type CapturedStream = z.infer<typeof CapturedStream>;

/** The part of a usage that no answer of the model reported, and how many answers that concerns. */
export const EstimatedUsage = z.object({ answers: bytes(), inputTokens: bytes(), outputTokens: bytes() });
export type EstimatedUsage = z.infer<typeof EstimatedUsage>;

/**
 * Model usage. An absent `costUsd` is unknown, never 0. `estimated` is a part of the counts, and so the cost is an
 * estimate too: answers that were cut off or reported no usage are charged by their bytes.
 */
export const Usage = z.object({
  models: z.array(z.string()).check(z.maxLength(32)),
  inputTokens: bytes(),
  outputTokens: bytes(),
  cacheReadTokens: bytes(),
  cacheWriteTokens: bytes(),
  estimated: z.optional(EstimatedUsage),
  costUsd: z.optional(z.number().check(z.nonnegative())),
  turns: z.optional(bytes()),
  toolCalls: z.optional(bytes()),
  durationMs: z.optional(milliseconds()),
});
export type Usage = z.infer<typeof Usage>;

/**
 * What is needed to continue an agent's conversation: some programs report the conversation's sum, so it is kept too.
 */
export const SessionResume = z.object({
  sessionId: z.string().check(z.minLength(1), z.maxLength(256)),
  usage: z.optional(
    z.object({
      inputTokens: bytes(),
      outputTokens: bytes(),
      cacheReadTokens: bytes(),
      cacheWriteTokens: bytes(),
    }),
  ),
});
export type SessionResume = z.infer<typeof SessionResume>;

/** All attempts of a run together; what stands beside it is of the last one alone. */
export const RunTotal = z.object({
  attempts: z.int().check(z.positive()),
  /** Without the pauses between them. */
  durationMs: milliseconds(),
  /** Of the attempts whose usage is known. */
  usage: z.optional(Usage),
});
export type RunTotal = z.infer<typeof RunTotal>;

/** The agent's question to a person; the agent writes it as `needs_input.json`. */
export const NeedsInput = z.object({
  question: z.string().check(z.minLength(1), z.maxLength(65_536)),
  options: z.optional(z.array(z.string().check(z.maxLength(4096))).check(z.maxLength(64))),
  context: z.optional(z.unknown()),
  partial_state: z.optional(z.unknown()),
});
export type NeedsInput = z.infer<typeof NeedsInput>;

export const VerifyReport = z.object({
  passed: z.boolean(),
  report: z.string().check(z.maxLength(262_144)),
  durationMs: milliseconds(),
  lens: z.enum(['verify', 'clean-room']),
});
export type VerifyReport = z.infer<typeof VerifyReport>;

/** The outcome of one block of the pipeline. */
export const BlockOutcome = z.object({
  /** Of any pipeline: a result is also read by versions that do not know the kind. */
  kind: z.string().check(z.maxLength(64)),
  ordinal: bytes(),
  status: z.enum(['ok', 'failed', 'timeout', 'reported']),
  /** Of a script: what it checked, the workspace as the agent left it or the patch alone. */
  lens: z.optional(ScriptLens),
  exitCode: z.optional(z.int()),
  durationMs: milliseconds(),
});
export type BlockOutcome = z.infer<typeof BlockOutcome>;

/** One thing that a layer stopped. */
export const Denial = z.object({
  layer: z.enum(['gate', 'sandbox', 'network', 'patch', 'own-settings']),
  what: z.string().check(z.maxLength(2048)),
  actionClass: z.optional(z.string()),
  rule: z.optional(z.string()),
});
export type Denial = z.infer<typeof Denial>;

export const OutputFile = z.object({ path: z.string(), ref: Sha256, size: bytes() });
export type OutputFile = z.infer<typeof OutputFile>;

/** What enclosed the agent, layer by layer, as really applied. */
export const Enforced = z.record(z.string(), z.unknown());

/** Result v1: the file a worker writes once, atomically, at its end. */
export const Result = z.object({
  schemaVersion: z.literal(1),
  runId: RunId,
  attempt: z.int().check(z.positive()),
  nonce: z.string(),
  status: z.enum(['finished', 'needs_input', 'failed', 'cancelled']),
  failure: z.optional(Failure),
  exitCode: reportedExitCode(),
  durationMs: milliseconds(),
  reply: z.object({ ref: Sha256, head: z.string().check(z.maxLength(65_536)), bytes: bytes() }),
  summary: z.optional(z.string()),
  patchRef: z.optional(Sha256),
  /** Changes of the patch that a person is asked about before they leave the run. */
  risky: z.optional(z.array(ListedRisk).check(z.maxLength(MAX_RISKY_LISTED))),
  outputs: z.array(OutputFile).check(z.maxLength(256)),
  verify: z.optional(VerifyReport),
  needsInput: z.optional(NeedsInput),
  handoff: z.optional(FoundHandoff),
  usage: z.optional(Usage),
  blocks: z.array(BlockOutcome).check(z.maxLength(64)),
  policy: z.object({
    grant: Grant,
    enforced: Enforced,
    denials: z.array(Denial).check(z.maxLength(256)),
  }),
  logs: z.object({ stdout: CapturedStream, stderr: CapturedStream }),
  resume: z.optional(SessionResume),
});
export type Result = z.infer<typeof Result>;

/** This version cannot read the result of the run. */
export class ResultUnreadableError extends CaissonError {
  readonly code = 'RESULT_UNREADABLE';
}

/** The result as it is stored. Throws {@link ResultUnreadableError}. */
export function parseStoredResult(runId: string, bytes: { toString(encoding: 'utf8'): string }): Result {
  const { data, error } = Result.safeParse(JSON.parse(bytes.toString('utf8')));
  if (data !== undefined) return data;
  const path = error.issues[0]?.path.join('.') ?? '';
  throw new ResultUnreadableError(`a newer version wrote the result of ${runId}: "${path}" cannot be read`, {
    remedy: 'Use the version that ran it, or a newer one.',
  });
}

/** A failed run never reports 0; see {@link reportedExitCode}. */
export function exitCodeOf(status: Result['status'], exitCode: number | null): number | null {
  return status === 'failed' && exitCode === 0 ? null : exitCode;
}
