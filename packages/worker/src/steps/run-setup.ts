import type { AttemptContext } from '../attempt-context.ts';
import { runInSandbox } from '../pipeline/run-command.ts';
import { fail } from '../step-failure.ts';
import { throwIfStopped } from '../stop-order.ts';

/** Step 9. All setup scripts run, in order; the first that fails ends the attempt. */
export async function runSetup(context: AttemptContext): Promise<void> {
  for (const command of context.job.setup) {
    throwIfStopped(context.control.stop);
    context.voice.say({ kind: 'progress', phase: 'setup', message: command.slice(0, 200) });
    const outcome = await runInSandbox(context, {
      purpose: 'setup',
      command,
      timeoutMs: context.job.setupTimeoutMs,
    });
    const { exitCode, timedOut, durationMs, stdout, stderr } = outcome;
    context.voice.say({
      kind: 'setup-script.ran',
      command: command.slice(0, 4096),
      exitCode,
      timedOut,
      durationMs,
      stdout: stdout.slice(-16_384),
      stderr: stderr.slice(-16_384),
    });
    throwIfStopped(context.control.stop);
    if (timedOut)
      throw fail(
        'worker-failed',
        `setup \`${command}\` did not end within ${context.job.setupTimeoutMs / 1000} s`,
      );
    if (exitCode !== 0)
      throw fail(
        'worker-failed',
        `setup \`${command}\` exited with ${exitCode ?? 'a signal'}: ${stderr.slice(-2000)}`,
      );
  }
}
