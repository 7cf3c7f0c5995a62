import { defineCommand } from '../command.ts';
import { watchRun } from '../watch-run.ts';
import { withCaissonToRead } from '../with-caisson.ts';

export const command = defineCommand({
  usage: '[RUN] [--quiet | --verbose]',
  about:
    'What caisson run shows, of a run that another process or the daemon carries out: what was so far, then live, to its end. Of the\n' +
    'newest run if RUN is left out. Ctrl-C leaves it; the run goes on. Ends with the exit code of the run.',
  options: {
    quiet: { type: 'boolean', summary: 'only its result' },
    verbose: { type: 'boolean', summary: 'everything that is recorded, and all of what the agent says' },
  },
  positionals: { min: 0, max: 1 },
  examples: [{ line: 'caisson attach', says: 'Watch the newest run, as if it had been started here.' }],
  run: ({ options, positionals, output }) =>
    withCaissonToRead(options['state-dir'], output, async (caisson) => {
      const { quiet, verbose, 'state-dir': stateDir } = options;
      const detail = quiet ? 'quiet' : verbose ? 'verbose' : 'normal';
      const begin = () => caisson.attach(positionals[0] ?? 'latest');
      const findLive = async (runId: string) => (await caisson.runs({ ids: [runId] }))[0]?.live;
      const how = { detail, stateDir, isOnlySeen: true, findLive } as const;
      const { code } = await watchRun(caisson, begin, output, how);
      return code;
    }),
});
