import {
  findDaemon,
  grantTrust,
  inspectTrust,
  isAgreed,
  revokeTrust,
  TrustRequiredError,
  type ProjectTrust,
} from '@caisson/engine';
import { agreeToProject } from '../agree-to-project.ts';
import { canAsk } from '../ask-on-terminal.ts';
import { defineCommand } from '../command.ts';
import { EXIT_CODES, type ExitCode } from '../exit-codes.ts';
import { formatTrust } from '../format-trust.ts';
import type { Output } from '../output.ts';
import { UsageError } from '../usage-error.ts';

/** What a daemon starts by itself. */
const RESIDENT_KEY = /^(?:senses|workflows|schedules)\./;

export const command = defineCommand({
  usage: '[--yes] [--send-key ADDRESS]… [--revoke]',
  about:
    'Shows what caisson.yaml asks for: commands, programs, keys, hosts, paths. None of it has an effect until you agree.\n' +
    'You agree to exactly this: when the file, or a file that it names, changes, Caisson asks again and shows the\n' +
    'difference. Settings that only restrict work without it. Keep your own keys and endpoints in your user file\n' +
    '(caisson config names it); it needs no trust.',
  options: {
    yes: { type: 'boolean', summary: 'agree without a question, for scripts' },
    'send-key': {
      type: 'string',
      multiple: true,
      value: 'ADDRESS',
      summary: 'agree that a credential of yours goes to this address; --yes alone never does',
    },
    revoke: { type: 'boolean', summary: 'revoke the agreement' },
  },
  examples: [
    { line: 'caisson trust', says: 'Show what this project asks for, and agree or not.' },
    { line: 'caisson trust --yes', says: 'Agree without a question.' },
    {
      line: 'caisson trust --yes --send-key https://models.example',
      says: 'Agree also that your key goes to this address.',
    },
    {
      line: 'caisson trust -o json',
      says: 'Everything as JSON, with the value for CAISSON_TRUST; changes nothing.',
    },
  ],
  async run({ options, output }) {
    const flags = { state: options['state-dir'] };
    if (options.revoke === true) return revoke(await revokeTrust({ flags }), output);
    const report = await inspectTrust({ flags });
    const sendsTo = (options['send-key'] ?? []).map((given) => parseAddress(given, report));
    if (options.yes === true)
      return await print(await grantTrust({ flags, sendsTo: [...sendsTo, ...agreedSends(report)] }), output, {
        before: report,
        stateDir: options['state-dir'],
      });
    if (!canAsk(output) || isAgreed(report)) return await print(report, output);
    const granted = await agreeToProject(report, options['state-dir'], output);
    output.line(granted === null ? 'Nothing was agreed to.' : 'Agreed. caisson trust --revoke revokes it.');
    return granted === null ? EXIT_CODES.policyDenied : EXIT_CODES.finished;
  },
});

async function print(
  report: ProjectTrust,
  output: Output,
  { before = report, stateDir }: { before?: ProjectTrust; stateDir?: string | undefined } = {},
): Promise<ExitCode> {
  if (before.folder !== null && report.folder === null) output.note('The folder is accepted as it is.');
  if (before.state !== null && report.state === null)
    output.note('The state folder was adopted: its runs are shown as they are, and were not checked.');
  output.result({ ...report }, () => formatTrust(report, output.style));
  if (!isAgreed(before) && isAgreed(report) && report.lines.some(({ key }) => RESIDENT_KEY.test(key)))
    output.note(`To begin with it: ${(await isServed(stateDir)) ? 'caisson reload' : 'caisson up -d'}`);
  if (isAgreed(report)) return EXIT_CODES.finished;
  if (output.format === 'human') output.note(`To agree: ${new TrustRequiredError(report).agree}`);
  return EXIT_CODES.policyDenied;
}

/** A state folder that is refused has no daemon that one could ask. */
async function isServed(stateDir: string | undefined): Promise<boolean> {
  const standing = await findDaemon({ stateDir }).catch(() => null);
  return standing?.kind === 'answers';
}

function revoke(isRevoked: boolean, output: Output): ExitCode {
  output.result({ revoked: isRevoked }, () => [
    isRevoked
      ? 'Revoked: what this project asks for has no effect any more.'
      : 'Nothing was agreed to for this project.',
  ]);
  return EXIT_CODES.finished;
}

/** A named address stays named. */
function agreedSends({ sends, missingSends }: ProjectTrust): string[] {
  return sends.map(({ to }) => to).filter((to) => !missingSends.includes(to));
}

/** An address that nothing would be sent to is a mistake. */
function parseAddress(given: string, { sends }: ProjectTrust): string {
  const known = [...new Set(sends.map(({ to }) => to))];
  const address = known.includes(given) || !URL.canParse(given) ? given : new URL(given).origin;
  if (known.includes(address)) return address;
  throw new UsageError(`this project sends no credential to ${given}`, {
    remedy: known.length === 0 ? 'Leave --send-key out.' : `It would send one to: ${known.join(', ')}.`,
  });
}
