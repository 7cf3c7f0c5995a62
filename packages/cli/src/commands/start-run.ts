/** What `run`, `continue` and `retry` have in common: options that exclude each other, and an early worker. */
import { getCurrentFolder, readHostEnvironment } from '@caisson/engine';
import type { OptionValues, COMMON_OPTIONS } from '../command.ts';
import { canAsk } from '../ask-on-terminal.ts';
import { hasInput } from '../attach.ts';
import { hasDaemon } from '../choose-bundle.ts';
import { usesDaemon } from '../daemon-choice.ts';
import { ownSpareWorkers } from '../early-worker.ts';
import type { ExitCode } from '../exit-codes.ts';
import type { Output } from '../output.ts';
import { UsageError } from '../usage-error.ts';
import type { RunValues } from './run-options.ts';
import { toRequest } from './run-request.ts';
import type { Continued } from './run-task.ts';

export interface StartedRun {
  readonly task?: string | undefined;
  readonly argv?: readonly string[] | null;
  readonly continued?: Continued;
}

export async function startRun(
  options: RunValues & OptionValues<typeof COMMON_OPTIONS>,
  { task, argv = null, continued }: StartedRun,
  output: Output,
): Promise<ExitCode> {
  const { detach, apply, interactive, quiet, verbose } = options;
  if (interactive && argv !== null)
    throw new UsageError('--interactive asks for the next text, and a command reads none', {
      remedy: 'Leave it out, or give a task for an agent: caisson run --interactive "…".',
    });
  refuseTogether(options, output);
  if (detach && argv !== null) refuseLostInput();
  const request = toRequest(options, task, argv, readHostEnvironment());
  // Starting a program takes longest, so that comes first; a background host and a daemon start their own.
  if (!detach && !(usesDaemon() && hasDaemon(getCurrentFolder())))
    ownSpareWorkers().warm({ usesNetwork: argv === null });
  const { runTask } = await import('./run-task.ts');
  const stateDir = options['state-dir'];
  const detail = quiet ? 'quiet' : verbose ? 'verbose' : 'normal';
  const isVerifyReportOnly = options['verify-report-only'];
  const how = { detach, apply, interactive, detail, isVerifyReportOnly } as const;
  return runTask({ request, continued: continued ?? null, stateDir, ...how }, output);
}

function refuseLostInput(): void {
  if (!hasInput()) return;
  throw new UsageError('a detached command cannot read this stdin: nobody is left to pass it on', {
    remedy: 'Run it without --detach, give it a file with --input, or close its stdin with </dev/null.',
  });
}

function refuseTogether({ detach, apply, interactive, quiet, verbose }: RunValues, output: Output): void {
  if (detach && apply)
    throw new UsageError('--apply needs a run in the foreground, and --detach leaves', {
      remedy: 'Use only one of them; caisson apply RUN applies the patch once the run has ended.',
    });
  if (quiet && verbose)
    throw new UsageError('--quiet and --verbose contradict each other', { remedy: 'Use only one of them.' });
  if (!interactive) return;
  if (detach)
    throw new UsageError('--interactive asks after each ending, and --detach leaves', {
      remedy: 'Use only one of them; caisson continue RUN "…" goes on once the run has ended.',
    });
  if (!canAsk(output))
    throw new UsageError('--interactive needs a person at a terminal, and there is none here', {
      remedy: 'Leave it out; caisson continue "…" goes on once the run has ended.',
    });
}
