import { defineCommand } from '../command.ts';
import { UsageError } from '../usage-error.ts';
import { readTask } from './read-task.ts';
import { RUN_OPTIONS } from './run-options.ts';
import { startRun } from './start-run.ts';

export const command = defineCommand({
  usage: '[RUN] [OPTIONS] "TEXT" | @FILE | -',
  about:
    'Gives the agent of an ended run its next task, in a new run: in the same conversation where the agent can resume it,\n' +
    'else with a summary of what happened. It begins with the files that the run left, merged with what you changed since; a\n' +
    'conflict is refused with its files, and nothing is started. What you changed after caisson apply counts as it is. A run\n' +
    'that worked in place goes on in place, with your files as they are. RUN is the run of this project that ended last, if\n' +
    'you name none. Options are those of that run, except for what you give here.',
  options: RUN_OPTIONS,
  positionals: { min: 1, max: 2 },
  examples: [
    { line: 'caisson continue "also handle tabs"', says: 'Go on with the run that ended last.' },
    {
      line: 'caisson continue run_… "now the docs" --model opus --verify "npm test"',
      says: 'Go on with another one, with another model and a check.',
    },
  ],
  async run({ options, positionals, output }) {
    const [word, run] = positionals.toReversed();
    if (run === undefined && /^(latest|run_[0-9a-z]{20})$/.test(word ?? ''))
      throw new UsageError(`${word ?? ''} is a run, and the text is missing`, {
        remedy: `caisson continue ${word ?? ''} "also handle tabs"`,
      });
    return startRun(options, { continued: { run: run ?? null, text: readTask(word) ?? '' } }, output);
  },
});
