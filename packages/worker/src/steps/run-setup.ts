import { definedOnly, type Job } from '@caisson/protocol';
import { type AttemptContext, fail, throwIfStopped } from '../attempt/index.ts';
import { runInSandbox, type CommandOutcome } from '../commands/index.ts';
import type { SetupCommand } from './overlay.ts';

/** Step 9. All setup scripts run, in order; the first that fails ends the attempt. */
export async function runSetup(context: AttemptContext, setup: readonly SetupCommand[]): Promise<void> {
  for (const script of setup) {
    const outcome = await runSetupCommand(context, script);
    const problem = describeSetupFailure(script, outcome, context.job.setupTimeoutMs);
    if (problem === null) continue;
    context.gathered.exitCode = outcome.exitCode;
    throw fail('worker-failed', problem, outcome.limit === undefined ? {} : { cause: 'disk' });
  }
}

/** Runs one script and reports it; `room` is the clean room's job, if it runs there. */
export async function runSetupCommand(
  context: AttemptContext,
  { title, command }: SetupCommand,
  room?: Job,
): Promise<CommandOutcome> {
  throwIfStopped(context.control.stop);
  context.writer.write({ kind: 'progress', phase: 'setup', message: title.slice(0, 200) });
  const outcome = await runInSandbox(context, {
    purpose: 'setup',
    command,
    timeoutMs: context.job.setupTimeoutMs,
    ...definedOnly({ job: room }),
  });
  const { exitCode, timedOut, durationMs, stdout, stderr } = outcome;
  context.writer.write({
    kind: 'setup-script.ran',
    ...(room === undefined ? {} : { room: 'clean-room' as const }),
    command: title.slice(0, 4096),
    exitCode,
    timedOut,
    durationMs,
    stdout: stdout.slice(-16_384),
    stderr: stderr.slice(-16_384),
  });
  throwIfStopped(context.control.stop);
  return outcome;
}

/** Why a setup script failed; `null` when it did not. */
export function describeSetupFailure(
  { title }: SetupCommand,
  { exitCode, timedOut, stderr, limit }: CommandOutcome,
  timeoutMs: number,
): string | null {
  if (limit !== undefined) return `setup \`${title}\`: ${limit.detail}`;
  if (timedOut) return `setup \`${title}\` did not end within ${timeoutMs / 1000} s`;
  if (exitCode === 0) return null;
  return `setup \`${title}\` exited with ${exitCode ?? 'a signal'}: ${stderr.slice(-2000)}`;
}
