import { readFileSync } from 'node:fs';
import { readHostEnvironment } from '@caisson/engine';
import { defineCommand } from '../command.ts';
import { ownSpareWorkers } from '../early-worker.ts';
import { UsageError } from '../usage-error.ts';
import { RUN_OPTIONS } from './run-options.ts';
import { toRequest } from './run-request.ts';

export const command = defineCommand({
  usage: '[OPTIONS] "TASK" | @FILE | -   or   [OPTIONS] -- CMD ARGS…',
  about:
    'Gives one task to one agent in its own sandbox, shows it live and ends with a sealed result. Your files stay as\n' +
    'they are: the work comes back as a patch. Ctrl-C once asks the run to stop, twice forces it; the run is then cancelled.\n' +
    'SIGTERM and SIGHUP do the same, and the run is interrupted. Both end with exit 130. Where a signal kills this process\n' +
    'itself (a second one before the run is accepted, or when it only watches), the shell sees 130, 143 or 129.\n' +
    'A plain command that fails gives its own exit code; a check that did not pass gives 1.',
  options: RUN_OPTIONS,
  positionals: { min: 0, max: 1 },
  takesRest: true,
  examples: [
    {
      line: 'caisson run "fix the flaky test" --runtime claude-code',
      says: 'Let an agent work on a copy of this repo.',
    },
    { line: 'caisson run -- npm test', says: 'Run a plain command in the sandbox.' },
    {
      line: 'caisson run @task.md --mode suggest -o json',
      says: 'Read-only, the task from a file, the result as JSON.',
    },
    {
      line: 'echo "add a test" | caisson run - --verify "npm test"',
      says: 'The task from stdin; check the work afterwards.',
    },
  ],
  async run({ options, positionals, rest, output }) {
    const env = readHostEnvironment();
    const task = readTask(positionals[0]);
    if (task === undefined && rest === null) {
      throw new UsageError('there is no task', {
        remedy:
          'caisson run "fix the flaky test", caisson run @task.md, … | caisson run -, or caisson run -- npm test',
      });
    }
    if (options.detach === true && options.apply === true)
      throw new UsageError('--apply needs a run in the foreground, and --detach leaves', {
        remedy: 'Use only one of them; caisson apply RUN applies the patch once the run has ended.',
      });
    if (options.quiet === true && options.verbose === true)
      throw new UsageError('--quiet and --verbose contradict each other', {
        remedy: 'Use only one of them.',
      });
    const request = toRequest(options, task, rest, env);
    // Starting a program takes longest, so that comes first; a background host starts its own.
    if (options.detach !== true) ownSpareWorkers().warm();
    const { runTask } = await import('./run-task.ts');
    return runTask(
      {
        request,
        stateDir: options['state-dir'],
        detach: options.detach ?? false,
        apply: options.apply ?? false,
        detail: options.quiet === true ? 'quiet' : options.verbose === true ? 'verbose' : 'normal',
        isVerifyReportOnly: options['verify-report-only'],
      },
      output,
    );
  },
});

function readTask(word: string | undefined): string | undefined {
  if (word === '-') return readFileSync(0, 'utf8');
  if (word?.startsWith('@') === true) {
    try {
      return readFileSync(word.slice(1), 'utf8');
    } catch (error) {
      throw new UsageError(`the task file ${word.slice(1)} cannot be read: ${(error as Error).message}`);
    }
  }
  return word;
}
