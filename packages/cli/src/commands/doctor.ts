import {
  examineConfig,
  examineHost,
  examineLedger,
  examineState,
  readHostEnvironment,
  type ProbeReport,
} from '@caisson/engine';
import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { line, type Lines, type Style } from '../painted.ts';

export const command = defineCommand({
  usage: '[--rebuild] [--accept-ledger]',
  about:
    'Looks at the configuration, at everything a run needs and at the whole ledger, and changes nothing unless asked to. Ends with 1 when something must be fixed first, with 6 when the ledger has lost runs or its history was rewritten.',
  options: {
    rebuild: {
      type: 'boolean',
      summary: "derive the ledger's rows again from its events, which stay as they are",
    },
    'accept-ledger': {
      type: 'boolean',
      summary: 'believe the ledger as it is from now on, after you removed runs or put back a copy yourself',
    },
  },
  examples: [
    { line: 'caisson doctor', says: 'What is here, what is missing, and how to fix it.' },
    {
      line: 'caisson doctor -o json',
      says: 'The same for a program: probes with id, verdict, detail and remedy.',
    },
  ],
  async run({ options, output }) {
    const { config, report } = await examineConfig({ flags: { state: options['state-dir'] } });
    const { stateDir, folders, runtimes } = config;
    const host = { env: readHostEnvironment(), home: folders.home, stateDir, runtimes };
    const state = examineState(config);
    const found = [...(await examineHost(host))].map((probe) => (probe.id === state?.id ? state : probe));
    const ledger =
      state === null
        ? await examineLedger(config, { rebuild: options.rebuild, accept: options['accept-ledger'] })
        : [];
    const probes = [report, ...found, ...ledger];
    const isWell = probes.every(({ verdict }) => verdict !== 'fail');
    const verdict = isWell ? (probes.some((probe) => probe.verdict === 'warn') ? 'warn' : 'ok') : 'fail';
    if (output.format === 'ndjson') for (const probe of probes) output.event(probe);
    else output.result({ verdict, probes }, () => formatReport(probes, output.style));
    if (ledger.some(({ id, verdict: found }) => id !== 'ledger' && found === 'fail'))
      return EXIT_CODES.tampered;
    return isWell ? EXIT_CODES.finished : EXIT_CODES.failed;
  },
});

function formatReport(probes: readonly ProbeReport[], style: Style): Lines {
  const marks = { ok: style.green('ok  '), warn: style.yellow('warn'), fail: style.red('FAIL') };
  const width = Math.max(...probes.map(({ id }) => id.length));
  const indent = ' '.repeat(width + 8);
  return probes.flatMap(({ id, verdict, detail, remedy }) => [
    line`${marks[verdict]}  ${id.padEnd(width)}  ${detail}`,
    ...(remedy === undefined ? [] : [line`${indent}${style.dim(remedy)}`]),
  ]);
}
