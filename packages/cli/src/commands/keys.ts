import { readFileSync } from 'node:fs';
import {
  loadConfig,
  loadConfigToRead,
  openUserKeyring,
  ProjectRefusedError,
  type ListedKey,
  type LoadConfigOptions,
  type ResolvedConfig,
} from '@caisson/engine';
import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { UsageError } from '../usage-error.ts';
import { formatTable } from '../format-table.ts';
import { warnUnread } from '../with-caisson.ts';

export const command = defineCommand({
  usage: '[--export [--id KEY]] [--trust FILE] [--distrust KEY]',
  about:
    'Your signing key is made on first use and never leaves this machine; give others its public half. With keys.signer the\n' +
    'key is in an ssh-agent, and only its public half is here.',
  options: {
    export: { type: 'boolean', summary: 'print the public key (PEM)' },
    id: { type: 'string', value: 'KEY', summary: 'which key to export; default your own' },
    trust: { type: 'string', value: 'FILE', summary: 'trust this public key from now on' },
    distrust: { type: 'string', value: 'KEY', summary: 'stop trusting a key' },
  },
  examples: [
    { line: 'caisson keys', says: 'Your key and those you trust.' },
    { line: 'caisson keys --export > my-key.pem', says: 'For people who check your runs.' },
  ],
  async run({ options, output }) {
    const asked = [options.export, options.trust, options.distrust].filter(Boolean);
    if (asked.length > 1)
      throw new UsageError('caisson keys does one thing at a time: --export, --trust or --distrust.');
    if (options.id !== undefined && !options.export) throw new UsageError('--id says which key to --export.');
    const signs = options.export && options.id === undefined; // the configuration says which key does, and it may be made
    const ring = openUserKeyring(
      await loadWherever({ flags: { state: options['state-dir'] } }, (how) =>
        signs ? loadConfig(how) : loadConfigToRead(how, warnUnread(output)),
      ),
    );
    if (options.export) {
      output.copy(Buffer.from(await ring.exportPublicKey(options.id)));
    } else if (options.trust !== undefined) {
      const key = await ring.trust(readFileSync(options.trust, 'utf8'));
      output.result({ trusted: key.keyId }, () => [`trusted ${key.keyId}`]);
    } else if (options.distrust !== undefined) {
      const wasTrusted = await ring.distrust(options.distrust);
      output.result({ distrusted: wasTrusted }, () => [wasTrusted ? 'no longer trusted' : 'was not trusted']);
    } else {
      const keys = await ring.list();
      const problem = await ring.findSignerProblem();
      if (problem !== null) output.note(`warning: ${problem.message}. ${problem.remedy ?? ''}`);
      output.result(keys, () =>
        keys.length === 0
          ? ['No key yet; the first run makes one.']
          : formatTable(
              [['KEY', 'KIND', ''], ...keys.map(describeKey)],
              output.style.bold,
              output.wrapColumns(),
            ),
      );
    }
    return EXIT_CODES.finished;
  },
});

function describeKey({ keyId, origin, signs }: ListedKey): string[] {
  return [keyId, origin, signs ? 'signs' : ''];
}

/** Keys belong to the user: they can be shown even if the project must not be used. */
async function loadWherever(
  options: LoadConfigOptions,
  load: (options: LoadConfigOptions) => Promise<ResolvedConfig>,
): Promise<ResolvedConfig> {
  try {
    return await load(options);
  } catch (error) {
    if (!(error instanceof ProjectRefusedError)) throw error;
    return await load({ ...options, usesProject: false });
  }
}
