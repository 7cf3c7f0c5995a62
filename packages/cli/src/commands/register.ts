import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { formatRegistration } from '../format-registration.ts';
import { UsageError } from '../usage-error.ts';
import { SECRETS_OPTION } from './registry.ts';
import { withCaissonToWrite } from '../with-caisson.ts';

export const command = defineCommand({
  usage: '--from FOLDER',
  about:
    'Registers agents/*.yaml, envs/*.yaml, pipelines/*.yaml and capabilities/*/ of a folder. Run it as often as you like:\n' +
    'what has not changed stays as it is, and a typing error anywhere registers nothing.',
  options: {
    from: { type: 'string', value: 'FOLDER', summary: 'folder that declares them' },
    ...SECRETS_OPTION,
  },
  examples: [{ line: 'caisson register --from ./team', says: 'Everything the folder declares.' }],
  run: ({ options, output }) =>
    withCaissonToWrite(options['state-dir'], output, async (caisson) => {
      if (options.from === undefined) throw new UsageError('caisson register needs --from FOLDER.');
      const registrations = await caisson.registry.registerFolder(options.from, {
        allowsSecrets: options['allow-secrets'],
      });
      output.result(registrations, () =>
        registrations.flatMap((registration) => formatRegistration(registration, output.style)),
      );
      return EXIT_CODES.finished;
    }),
});
