import { readFileSync } from 'node:fs';
import { createCaisson, readHostEnvironment, type RunHandle } from '@caisson/engine';
import type { DispatchResult } from '@caisson/protocol';
import { defineCommand } from '../command.ts';
import { exitCodeOfResult, type ExitCode } from '../exit-codes.ts';
import { createLiveView } from '../live-view.ts';
import type { Output } from '../output.ts';
import { formatEnding } from '../format-ending.ts';
import { UsageError } from '../usage-error.ts';
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
    const caisson = await createCaisson(stateDir === undefined ? {} : { stateDir });
    try {
      const handle = await caisson.dispatch(request);
      return await watchRun(handle, output);
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

async function watchRun(handle: RunHandle, output: Output): Promise<ExitCode> {
  const stopListening = listenForInterrupts(handle, output);
  const view = createLiveView(output, handle.runId);
  try {
    for await (const event of handle.events()) {
      output.event(event);
      view.show(event);
    }
    const result = await handle.ended;
    view.end();
    printResult(result, output);
    return exitCodeOfResult(result);
  } finally {
    view.end();
    stopListening();
  }
}

function printResult(result: DispatchResult, output: Output): void {
  if (output.format === 'ndjson') return;
  output.result(result, () => formatEnding(result, output.style));
}

/** Once: ask. Twice: force. */
function listenForInterrupts(handle: RunHandle, output: Output): () => void {
  let count = 0;
  const onInterrupt = (): void => {
    count += 1;
    if (count === 1) output.note('Stopping; the work so far is kept. Press Ctrl-C again to force.');
    else output.note('Forcing the run to stop.');
    handle.cancel({ force: count > 1, interrupt: true });
  };
  const onTerminate = (): void => handle.cancel();
  process.on('SIGINT', onInterrupt);
  process.on('SIGTERM', onTerminate);
  process.on('SIGHUP', onTerminate);
  return () => {
    process.off('SIGINT', onInterrupt);
    process.off('SIGTERM', onTerminate);
    process.off('SIGHUP', onTerminate);
  };
}
