import { accessSync, constants, existsSync, readFileSync, statSync } from 'node:fs';
import {
  keysFolder,
  loadConfig,
  openKeyring,
  parsePublicKey,
  verifyExport,
  type PublicKey,
  type Verification,
} from '@caisson/engine';
import { defineCommand } from '../command.ts';
import { EXIT_CODES, type ExitCode } from '../exit-codes.ts';
import type { Output } from '../output.ts';
import { UsageError } from '../usage-error.ts';
import { withCaissonToRead } from '../with-caisson.ts';

const BY_OUTCOME: Readonly<Record<Verification['outcome'], ExitCode>> = {
  ok: EXIT_CODES.finished,
  'integrity-failed': EXIT_CODES.integrityFailed,
  'bad-signature': EXIT_CODES.badSignature,
  'no-key': EXIT_CODES.noKey,
};

export const command = defineCommand({
  usage: 'RUN|FILE [--key KEY]',
  about:
    'Checks a run of this project, or an exported file, which needs no state folder and no network. Exit codes:\n' +
    '0 all is well, 6 something was changed or is missing, 7 the signature is wrong, 8 nobody here trusts the key.',
  options: {
    key: { type: 'string', value: 'FILE', summary: 'public key (PEM) to believe instead of the key ring' },
  },
  positionals: { min: 1, max: 1 },
  examples: [
    { line: 'caisson verify latest', says: 'Check the newest run.' },
    { line: 'caisson verify proof.tar --key their-key.pem', says: 'Check what somebody sent you.' },
  ],
  async run({ options, positionals, output }) {
    const given = positionals[0] ?? '';
    const keys = options.key === undefined ? undefined : [readKey(options.key)];
    const isFile =
      given.includes('/') || given.includes('.') || (existsSync(given) && !given.startsWith('run_'));
    const verification = isFile
      ? await verifyFile(given, keys)
      : await withCaissonToRead(options['state-dir'], output, (caisson) =>
          caisson.verify(given, keys === undefined ? {} : { trustedKeys: keys }),
        );
    output.result(verification, () => describe(verification, output.style));
    return BY_OUTCOME[verification.outcome];
  },
});

async function verifyFile(file: string, keys: readonly PublicKey[] | undefined): Promise<Verification> {
  requireReadable(file);
  const trustedKeys =
    keys ?? (await openKeyring(keysFolder(await loadConfig({ ignoresFile: true }))).trustedKeys());
  return verifyExport(file, { trustedKeys });
}

/** What cannot be read was not shown to be forged. */
function requireReadable(file: string): void {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats === undefined) throw new UsageError(`there is no file ${file}`);
  if (!stats.isFile()) throw new UsageError(`${file} is not a file; caisson export writes one`);
  try {
    accessSync(file, constants.R_OK);
  } catch {
    throw new UsageError(`${file} may not be read by this user`);
  }
}

function readKey(file: string): PublicKey {
  requireReadable(file);
  try {
    return parsePublicKey(readFileSync(file, 'utf8'), file);
  } catch (error) {
    throw new UsageError(`--key ${file} is not a public key: ${(error as Error).message}`);
  }
}

function describe(verification: Verification, style: Output['style']): string {
  const marks = { ok: style.green('ok'), failed: style.red('FAILED'), 'not-applicable': style.dim('n/a') };
  const lines = verification.checks.map(
    (check) => `${marks[check.verdict]}  ${check.id}  ${style.dim(check.detail)}`,
  );
  return [
    ...lines,
    `${verification.outcome === 'ok' ? style.green('verified') : style.red(verification.outcome)}  ${verification.runId ?? ''}`,
  ].join('\n');
}
