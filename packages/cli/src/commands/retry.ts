import { defineCommand } from '../command.ts';
import { readTask } from './read-task.ts';
import { RUN_OPTIONS } from './run-options.ts';
import { startRun } from './start-run.ts';

export const command = defineCommand({
  usage: 'RUN [OPTIONS] ["TASK" | @FILE | -]',
  about:
    'The same task, or a changed one, as a new run that continues the old one. Agents that support it resume their\n' +
    'conversation. Options are those of the old run, except for what you give here; another runtime begins a new conversation.',
  options: RUN_OPTIONS,
  positionals: { min: 1, max: 2 },
  examples: [
    { line: 'caisson retry latest', says: 'Try the newest run again.' },
    {
      line: 'caisson retry latest --runtime codex --model gpt-5',
      says: 'The same task for another agent and model.',
    },
  ],
  async run({ options, positionals: [run = '', word], output }) {
    return startRun(options, { task: readTask(word), continued: { run, text: null } }, output);
  },
});
