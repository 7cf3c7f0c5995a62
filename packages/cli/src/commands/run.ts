import { readFileSync } from 'node:fs';
import { createCaisson, readHostEnvironment } from '@caisson/engine';
import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import type { Output } from '../output.ts';
import { watchRun } from '../watch-run.ts';
import { VERSION } from '../version.ts';
import { UsageError } from '../usage-error.ts';
import { printApplied } from './apply.ts';
import { RUN_OPTIONS, toRequest } from './run-options.ts';

export const command = defineCommand({
  usage: '[OPTIONS] "TASK" | @FILE | -   or   [OPTIONS] -- CMD ARGS…',
  about:
    'Gives one task to one agent in its own sandbox, shows it live and ends with a sealed result. Your files stay as\n' +
    'they are: the work comes back as a patch. Ctrl-C once asks the run to stop, twice forces it.',
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
        remedy: 'caisson run "fix the flaky test", or caisson run -- npm test',
      });
    }
    const request = toRequest(options, task, rest, env);
    const stateDir = options['state-dir'];
    const caisson = await createCaisson({
      version: VERSION,
      ...(stateDir === undefined ? {} : { stateDir }),
    });
    try {
      if (options.detach) {
        const runId = await caisson.dispatchDetached(request, [process.argv[1] ?? '']);
        output.result({ runId }, () => runId);
        return EXIT_CODES.finished;
      }
      const handle = await caisson.dispatch(request);
      const code = await watchRun(handle, output, caisson.decide);
      if (!options.apply || code !== EXIT_CODES.finished) return code;
      return printApplied(
        await caisson.apply(handle.runId),
        output.format === 'human' ? output : quiet(output),
      );
    } finally {
      await caisson.close();
    }
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

/** With `-o json` stdout carries one object, the result; how the apply went is a remark. */
function quiet(output: Output): Output {
  return { ...output, result: (_value, human) => output.note(human()) };
}
