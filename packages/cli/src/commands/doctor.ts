import {
  examineAgents,
  examineConfig,
  examineDeclaredAgents,
  examineHost,
  examineProject,
  examineResidents,
  examineState,
  getCurrentFolder,
  readHostEnvironment,
  repairProject,
  type ProbeReport,
} from '@caisson/engine';
import { defineCommand } from '../command.ts';
import { EXIT_CODES, type ExitCode } from '../exit-codes.ts';
import { formatRepairs, formatReport } from '../format-doctor.ts';
import { showProgress, showStep } from '../show-progress.ts';
import { VERSION } from '../version.ts';
import { keepYoungSpaceSmall } from '../young-space.ts';

export const command = defineCommand({
  usage: '[--repair] [--quick] [--accept-ledger]',
  about:
    'Checks the configuration, everything a run needs, the whole ledger, every blob that a run needs, and our\n' +
    'refs and worktrees. For each agent program, and each agent of caisson.yaml, it says what a run would\n' +
    'use, or why it would be refused. Changes nothing without an option. Ends with 6 when something was tampered with, with 10 when something\n' +
    'is missing or cannot be read, with 9 when runs are unsealed, and with 1 when something else must be fixed first, or\n' +
    'could not be repaired.',
  options: {
    repair: {
      type: 'boolean',
      summary:
        'fix what can be fixed, and report it: rows of the ledger, indexes of packs, runs of dead hosts, missing seals, blobs that the bucket has, stale worktrees, broken refs',
    },
    quick: { type: 'boolean', summary: 'only check that blobs exist, without reading them' },
    'accept-ledger': {
      type: 'boolean',
      summary:
        'accept the ledger as it is from now on, after you removed runs, restored a copy or began a new one yourself: the runs that it lacks are given up, and gc may remove their files',
    },
  },
  examples: [
    { line: 'caisson doctor', says: 'What is here, what is missing, and how to fix it.' },
    { line: 'caisson doctor --repair', says: 'The same, after fixing what can be fixed.' },
    {
      line: 'caisson doctor -o json',
      says: 'The same for a program: probes with id, verdict, outcome, detail, findings and remedy.',
    },
  ],
  async run({ options, output }) {
    keepYoungSpaceSmall();
    const { config, report, isStateKnown } = await examineConfig({ flags: { state: options['state-dir'] } });
    const { stateDir, folders, runtimes } = config;
    const host = { env: readHostEnvironment(), home: folders.home, stateDir, runtimes };
    const state = examineState(config, { isKnown: isStateKnown });
    const found = [...(await examineHost(host))].map((probe) => (probe.id === state?.id ? state : probe));
    const isOurs = state === null;
    const repaired =
      options.repair === true && isOurs
        ? await repairProject(config, { cwd: getCurrentFolder(), version: VERSION })
        : [];
    const progress = {
      file: showStep(output, 'checking the file of the ledger'),
      events: showProgress(output, (done, total) => `checking the ledger: ${done} of ${total} events`),
      rows: showStep(output, 'comparing the tables of the ledger with its events'),
      seals: showProgress(output, (done, total) => `checking the seals: ${done} of ${total}`),
      store: showProgress(output, (done, total) => `checking the store: ${done} of ${total} events`),
    };
    const project = isOurs
      ? await examineProject(config, {
          accept: options['accept-ledger'],
          isQuick: options.quick,
          onProgress: (what, done, total) => progress[what](done, total),
        })
      : [];
    const { usual, agents } = await examineAgents(config, getCurrentFolder());
    const declared = [...(await examineDeclaredAgents(config)), ...(await examineResidents(config))];
    const isRepaired = options.repair === true && config.unread === undefined;
    const probes = [report, ...found, usual, ...agents, ...declared, ...project].map((probe) =>
      isRepaired ? withoutRepair(probe) : probe,
    );
    const all = [...repaired, ...probes];
    const verdict = (['fail', 'warn'] as const).find((one) => all.some((each) => each.verdict === one));
    if (output.format === 'ndjson') for (const item of all) output.event(item);
    else
      output.result({ verdict: verdict ?? 'ok', repaired, probes }, () => [
        ...formatRepairs(repaired, output.style),
        ...formatReport(probes, output.style, output.wrapColumns()),
      ]);
    return exitCodeOf(probes, verdict === 'fail');
  },
});

/** No remedy is shown for what was just done. */
function withoutRepair({ repair: _repair, ...probe }: ProbeReport): ProbeReport {
  return probe;
}

/** The worst finding. */
function exitCodeOf(probes: readonly ProbeReport[], hasFailed: boolean): ExitCode {
  const worst = (['tampered', 'incomplete', 'unsealed'] as const).find((outcome) =>
    probes.some((probe) => probe.outcome === outcome),
  );
  if (worst !== undefined) return EXIT_CODES[worst];
  return hasFailed ? EXIT_CODES.failed : EXIT_CODES.finished;
}
