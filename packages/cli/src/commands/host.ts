import { defineCommand } from '../command.ts';
import { goWithoutDaemon } from '../daemon-choice.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { onStopSignals } from '../stop-signals.ts';
import { UsageError } from '../usage-error.ts';
import { withCaisson } from '../with-caisson.ts';

export const command = defineCommand({
  usage: 'RUN',
  about:
    'What --detach starts: a background host for one run. Not for people. SIGTERM stops the run with its grace, keeps its\n' +
    'work and records it as interrupted; a second one forces.',
  options: {},
  positionals: { min: 0, max: 1 },
  examples: [{ line: 'caisson run --detach "…"', says: 'Starts one of these by itself.' }],
  run: ({ options, positionals: [runId] }) => {
    if (runId === undefined)
      throw new UsageError('a host serves one run, and caisson run --detach "…" starts it with its run');
    goWithoutDaemon(); // it was started by a command that does without
    return withCaisson(options['state-dir'], async (caisson) => {
      onStopSignals(({ force }) => void caisson.shutdown({ force }));
      await caisson.serveDetached(runId);
      return EXIT_CODES.finished;
    });
  },
});
