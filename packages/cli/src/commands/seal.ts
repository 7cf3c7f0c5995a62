import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { UsageError } from '../usage-error.ts';
import { withCaisson } from '../with-caisson.ts';

export const command = defineCommand({
  usage: 'RUN | --all',
  about:
    'Every run is sealed when it ends. One that ended without a signature (a locked ssh-agent, for example) can be sealed\n' +
    'later with this. A run that has its seal keeps it. One that an older version ended is sealed only when it is named.',
  options: { all: { type: 'boolean', summary: 'every run that ended without a seal' } },
  positionals: { min: 0, max: 1 },
  examples: [
    { line: 'caisson seal latest', says: 'Sign the newest run.' },
    { line: 'caisson seal --all', says: 'Sign everything that ended unsealed.' },
  ],
  async run({ options, positionals, output }) {
    const [run] = positionals;
    if ((run === undefined) === (options.all !== true))
      throw new UsageError('caisson seal needs a run, or --all, and not both.');
    return await withCaisson(
      options['state-dir'],
      async (caisson) => {
        const sealed = await caisson.seal(run);
        output.result({ sealed }, () =>
          sealed.length === 0 ? ['nothing to seal'] : sealed.map((runId) => `sealed ${runId}`),
        );
        return EXIT_CODES.finished;
      },
      output,
    );
  },
});
