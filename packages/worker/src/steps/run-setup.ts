import type { AttemptContext } from '../attempt-context.ts';
import { runInSandbox } from '../pipeline/run-command.ts';
import { fail } from '../step-failure.ts';
import type { SetupCommand } from './overlay.ts';
import { throwIfStopped } from '../stop-order.ts';

/** Step 9. All setup scripts run, in order; the first that fails ends the attempt. */
export async function runSetup(context: AttemptContext, setup: readonly SetupCommand[]): Promise<void> {
  for (const { title, command } of setup) {
    throwIfStopped(context.control.stop);
    context.voice.say({ kind: 'progress', phase: 'setup', message: title.slice(0, 200) });
    const outcome = await runInSandbox(context, {
      purpose: 'setup',
      command,
      timeoutMs: context.job.setupTimeoutMs,
    });
    const { exitCode, timedOut, durationMs, stdout, stderr } = outcome;
    context.voice.say({
      kind: 'setup-script.ran',
      command: title.slice(0, 4096),
      exitCode,
      timedOut,
      durationMs,
      stdout: stdout.slice(-16_384),
      stderr: stderr.slice(-16_384),
    });
    throwIfStopped(context.control.stop);
    if (outcome.limit !== undefined)
      throw fail('worker-failed', `setup \`${title}\`: ${outcome.limit.detail}`, { cause: 'disk' });
    if (timedOut)
      throw fail(
        'worker-failed',
        `setup \`${title}\` did not end within ${context.job.setupTimeoutMs / 1000} s`,
      );
    if (exitCode !== 0)
      throw fail(
        'worker-failed',
        `setup \`${title}\` exited with ${exitCode ?? 'a signal'}: ${stderr.slice(-2000)}`,
      );
  }
}
