/** Step 14: the structural end of every attempt. In every case one result is written, once, atomically. */
import { writeFileAtomicSync, type Redactor } from '@caisson/ground';
import {
  definedOnly,
  exitCodeOf,
  type CapturedStream,
  type Ending,
  type NeedsInput,
  type Result,
} from '@caisson/protocol';
import { type AttemptContext, addUsage, redactForeign, redactRecord } from '../attempt/index.ts';

const REPLY_HEAD_CHARACTERS = 16_384;

/**
 * Not synced: the host stores these bytes durably before the ending, and a power cut ends host and worker alike. Of a torn
 * file it takes nothing (decision 0073).
 */
export function writeResult(context: AttemptContext, ending: Ending, durationMs: number): void {
  const result = composeResult(context, ending, durationMs);
  writeFileAtomicSync(context.job.paths.result, `${JSON.stringify(result)}\n`, {
    mode: 0o600,
    durable: false,
  });
  writeEnding(context, ending, durationMs);
}

function composeResult(context: AttemptContext, ending: Ending, durationMs: number): Result {
  const { job, captures, redactor } = context;
  const gathered = { ...context.gathered, ...redactWords(context) };
  const usage = context.meter.toUsage();
  const reply = Buffer.from(gathered.reply);
  return {
    schemaVersion: 1,
    runId: job.runId,
    attempt: job.attempt,
    nonce: job.nonce,
    status: ending.kind,
    ...(ending.kind === 'failed' ? { failure: redactRecord(redactor, ending.failure) } : {}),
    exitCode: exitCodeOf(ending.kind, gathered.exitCode),
    durationMs,
    reply: {
      ref: captures.put(reply),
      head: gathered.reply.slice(0, REPLY_HEAD_CHARACTERS),
      bytes: reply.length,
    },
    ...definedOnly({ patchRef: gathered.patchRef, risky: gathered.risky }),
    outputs: gathered.outputs,
    ...definedOnly({
      verify: gathered.verify,
      needsInput: gathered.needsInput,
      handoff: gathered.handoff,
      usage,
    }),
    blocks: gathered.blocks,
    policy: { grant: job.grant, enforced: gathered.enforced, denials: gathered.denials },
    logs: {
      stdout: recordOf(context, gathered.logs?.stdout),
      stderr: recordOf(context, gathered.logs?.stderr),
    },
    ...resumeOf(context),
  };
}

/** The conversation's own sum: its earlier count, and what this attempt added. */
function resumeOf({ resume, gathered, meter }: AttemptContext): Pick<Result, 'resume'> {
  const { sessionId } = gathered;
  if (sessionId === undefined || sessionId === '') return {};
  const before = resume?.usage;
  const usage = before === undefined ? meter.usage : addUsage(before, meter.usage);
  return { resume: { sessionId, usage } };
}

/** Invariant 7: text of the agent may contain a secret; logs, reply and outputs were redacted when captured. */
function redactWords({ redactor, gathered }: AttemptContext): Partial<AttemptContext['gathered']> {
  const { needsInput, verify, denials, outputs } = gathered;
  return {
    ...redactRecord(redactor, { denials, outputs, ...definedOnly({ verify }) }),
    ...(needsInput === undefined ? {} : { needsInput: redactQuestion(redactor, needsInput) }),
  };
}

function redactQuestion(redactor: Redactor, needsInput: NeedsInput): NeedsInput {
  const fields = Object.entries(needsInput).map(([name, value]) => [name, redactForeign(redactor, value)]);
  return Object.fromEntries(fields) as NeedsInput;
}

function recordOf(
  context: AttemptContext,
  log: { bytes: Buffer; truncated: boolean } | undefined,
): CapturedStream {
  const bytes = log?.bytes ?? Buffer.alloc(0);
  return { ref: context.captures.put(bytes), bytes: bytes.length, truncated: log?.truncated ?? false };
}

function writeEnding(context: AttemptContext, ending: Ending, durationMs: number): void {
  switch (ending.kind) {
    case 'finished':
      return context.writer.write({ kind: 'dispatch.finished', durationMs });
    case 'needs_input':
      return context.writer.write({ kind: 'dispatch.needs_input', durationMs });
    case 'failed':
      return context.writer.write({ kind: 'dispatch.failed', durationMs, failure: ending.failure });
    case 'cancelled':
      return context.writer.write({ kind: 'dispatch.cancelled', durationMs, cause: ending.cause });
  }
}
