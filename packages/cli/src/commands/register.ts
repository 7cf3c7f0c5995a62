import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { formatRegistration } from '../format-registration.ts';
import { UsageError } from '../usage-error.ts';
import { SECRETS_OPTION } from './registry.ts';
import { withRegistry } from '../with-caisson.ts';

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
  async run({ options, output }) {
    const { from } = options;
    if (from === undefined) throw new UsageError('caisson register needs --from FOLDER.');
    const registrations = await withRegistry(options['state-dir'], output, (registry) =>
      registry.registerFolder(from, { allowsSecrets: options['allow-secrets'] }),
    );
    output.result(registrations, () =>
      registrations.flatMap((registration) => formatRegistration(registration, output.style)),
    );
    return EXIT_CODES.finished;
  },
});
