import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { formatBytes } from '../format-values.ts';
import { withCaissonToRead } from '../with-caisson.ts';

export const command = defineCommand({
  usage: 'RUN [--to FILE]',
  about:
    'One file with everything another person needs: events, manifest, result, artefacts, signature, public key. A run that\n' +
    'ended without a seal is sealed first. Ends with 6 when something was changed, with 9 when the run is unsealed, with 10\n' +
    'when something is missing.',
  options: { to: { type: 'string', value: 'FILE', summary: 'where to write it; default RUN.caisson.tar' } },
  positionals: { min: 1, max: 1 },
  examples: [
    { line: 'caisson export latest --to proof.tar', says: 'Then, anywhere: caisson verify proof.tar' },
  ],
  run: ({ options, positionals, output }) =>
    withCaissonToRead(options['state-dir'], output, async (caisson) => {
      const { runId } = await caisson.show(positionals[0] ?? '');
      const exported = await caisson.export(runId, options.to ?? `${runId}.caisson.tar`);
      output.result(exported, () => [
        `${exported.file}: ${exported.events} events, ${formatBytes(exported.bytes)}, signed by ${exported.keyId.slice(0, 16)}`,
      ]);
      return EXIT_CODES.finished;
    }),
});
