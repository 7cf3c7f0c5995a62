import { defineCommand } from '../command.ts';
import { UsageError } from '../usage-error.ts';
import { readTask } from './read-task.ts';
import { RUN_OPTIONS } from './run-options.ts';
import { startRun } from './start-run.ts';

export const command = defineCommand({
  usage: '[OPTIONS] "TASK" | @FILE | -   or   [OPTIONS] -- CMD ARGS…',
  about:
    'Gives one task to one agent in its own sandbox, shows it live and ends with a sealed result. Your files stay as\n' +
    'they are: the work comes back as a patch. Ctrl-C once asks the run to stop, twice forces it; the run is then cancelled.\n' +
    'SIGTERM and SIGHUP do the same, and the run is interrupted. Both end with exit 130. A run of a daemon goes on after SIGTERM and\n' +
    'SIGHUP: they end only this process, as a second signal before the run is accepted does, and the shell sees 130, 143 or 129.\n' +
    'A plain command that fails gives its own exit code; a check that did not pass gives 1.\n' +
    'A plain command prints to your stdout and stderr as it runs, and reads your stdin; the ending goes to stderr unless\n' +
    'stdout is a terminal. With -o json or ndjson its output is in the result only.\n' +
    'A call that the policy asks about waits: on a terminal you are asked. In a pipe or in CI it is named on stderr; answer it\n' +
    'from another shell (caisson approve, caisson deny). No answer before the deadline (questions.approvalDeadline, 5 min) denies it.',
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
    const task = readTask(positionals[0]);
    if (task === undefined && rest === null) {
      throw new UsageError('there is no task', {
        remedy:
          'caisson run "fix the flaky test", caisson run @task.md, … | caisson run -, or caisson run -- npm test',
      });
    }
    return startRun(options, { task, argv: rest }, output);
  },
});
