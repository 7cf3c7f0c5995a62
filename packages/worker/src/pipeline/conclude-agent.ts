/** Turns an ended agent into the report of its block. Its own events decide; the exit code only breaks a tie. */
import { STEPS } from '@caisson/protocol';
import {
  type AttemptContext,
  type Spool,
  type StopOrder,
  fail,
  StepFailure,
  StoppedError,
} from '../attempt/index.ts';
import type { AgentEnding, AgentStream } from '../runtimes/index.ts';
import { recordLogs, type AgentSpools } from './agent-spools.ts';
import type { BlockReport } from './runner.ts';
import { reportSandboxDenials } from './sandbox-denials.ts';

const MAX_DETAIL = 4000;

export interface AgentProcessExit {
  readonly code: number | null;
  readonly signal: string | null;
}

export function concludeAgent(
  context: AttemptContext,
  run: { exit: AgentProcessExit; stream: AgentStream; spools: AgentSpools; startedAt: number },
): BlockReport {
  const { exit } = run;
  const { gathered, control } = context;
  gathered.exitCode = exit.code;
  recordLogs(context, run.spools);
  reportSandboxDenials(context, exit, errorsOf(context, run.spools).tail());
  const ending = findAgentEnding(context, run);
  if (ending !== null) reportRan(context, run);
  gathered.reply = context.redactor.redact(ending?.reply ?? '');
  const exitCode = exit.code === null ? {} : { exitCode: exit.code };
  if (control.stop.aborted) throw new StoppedError(control.stop.reason as StopOrder);
  if (gathered.limit !== undefined)
    return {
      status: 'failed',
      ...exitCode,
      failure: new StepFailure({ step: STEPS.pipeline, ...gathered.limit }),
    };
  if (ending === null || ending.kind === 'answered') return { status: 'ok', ...exitCode };
  const failure = fail('provider-failed', context.redactor.redact(describe(ending)).slice(0, MAX_DETAIL), {
    cause: ending.cause,
    step: 'pipeline',
  });
  return { status: 'failed', ...exitCode, failure };
}

/**
 * Programs print `terminated` or `fetch failed` when their connection to the model is cut: that alone explains nothing.
 */
function describe({ cause, detail }: Extract<AgentEnding, { kind: 'failed' }>): string {
  return cause === 'no-connection'
    ? `the agent could not reach its model, or the connection broke: ${detail}`
    : detail;
}

/** Where error messages are. */
function errorsOf({ job }: AttemptContext, spools: AgentSpools): Spool {
  return job.attached?.isMerged === true ? spools.stdout : spools.stderr;
}

/** How the agent ended, or `null` when its adapter does not know; the failure is in `gathered.limit` then. */
function findAgentEnding(
  context: AttemptContext,
  { exit, stream, spools }: { exit: AgentProcessExit; stream: AgentStream; spools: AgentSpools },
): AgentEnding | null {
  const { gathered } = context;
  if (gathered.limit?.reason === 'worker-failed') return null; // the adapter must not be called again
  try {
    return stream.end({
      ...exit,
      stdoutTail: spools.stdout.tail(),
      stderrTail: errorsOf(context, spools).tail(8192),
    });
  } catch (error) {
    if (!(error instanceof StepFailure)) throw error;
    gathered.limit ??= error.failure;
    return null;
  }
}

function reportRan(
  context: AttemptContext,
  { exit, spools, startedAt }: { exit: AgentProcessExit; spools: AgentSpools; startedAt: number },
): void {
  context.writer.write({
    kind: 'runtime.adapter.ran',
    exitCode: exit.code,
    signal: exit.signal,
    durationMs: Math.round(performance.now() - startedAt),
    stdout: {
      bytes: spools.stdout.bytes,
      head: spools.stdout.head().slice(0, 2048),
      tail: spools.stdout.tail(2048),
    },
    stderr: {
      bytes: spools.stderr.bytes,
      head: spools.stderr.head().slice(0, 2048),
      tail: spools.stderr.tail(2048),
    },
  });
}
