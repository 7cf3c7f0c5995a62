import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { withCaisson } from '../with-caisson.ts';

export const command = defineCommand({
  usage: 'RUN',
  about: 'What --detach starts: a background host for one run. Not for people.',
  options: {},
  positionals: { min: 1, max: 1 },
  examples: [{ line: 'caisson run --detach "…"', says: 'Starts one of these by itself.' }],
  run: ({ options, positionals }) =>
    withCaisson(options['state-dir'], async (caisson) => {
      process.on('SIGHUP', () => undefined); // the terminal that started us may close
      await caisson.serveDetached(positionals[0] ?? '');
      return EXIT_CODES.finished;
    }),
});
