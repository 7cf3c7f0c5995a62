import { inspectTrust, isAgreed, reloadDaemon, TrustRequiredError } from '@caisson/engine';
import { CaissonError, formatSetting, type ReloadReport } from '@caisson/protocol';
import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import type { Lines } from '../painted.ts';

export const command = defineCommand({
  usage: '',
  about:
    'The daemon reads its configuration again and reports what has changed since the last reading. Each run uses the\n' +
    'configuration as it is when the run is accepted; senses, workflows and schedules change at once; what only a new daemon\n' +
    'uses is named. A configuration that has become invalid is an error, and changes nothing.',
  options: {},
  examples: [{ line: 'caisson reload', says: 'After a change of caisson.yaml: what is different now?' }],
  async run({ options, output }) {
    const report = await reload(options['state-dir']);
    for (const warning of report.warnings ?? []) output.note(`warning: ${warning}`);
    output.result(report, () => format(report));
    return EXIT_CODES.finished;
  },
});

/** A refusal comes as one text; what is asked for is listed here as everywhere, each thing on a line of its own. */
async function reload(stateDir: string | undefined): Promise<ReloadReport> {
  try {
    return await reloadDaemon({ stateDir });
  } catch (error) {
    if (!(error instanceof CaissonError) || error.code !== 'TRUST_REQUIRED') throw error;
    const report = await inspectTrust({ flags: { state: stateDir } });
    throw isAgreed(report) ? error : new TrustRequiredError(report);
  }
}

/** What a daemon reads anew at once. */
const AT_ONCE = /^(?:senses|workflows|schedules)(?:\.|$)/;

function format({ changes, needsRestart, residents = [] }: ReloadReport): Lines {
  const changed = changes.map(
    (change) => `${change.key}: ${show(change.key, change.previous)} → ${show(change.key, change.new)}`,
  );
  const schedules = changes
    .filter(({ key }) => key.startsWith('schedules.'))
    .map(({ key }) => key.split('.').slice(0, 2).join('.'));
  const atOnce = [...new Set([...residents, ...schedules])];
  const later = changes.filter(({ key }) => !AT_ONCE.test(key) && !needsRestart.includes(key));
  const lines = [
    ...(changes.length + residents.length === 0 ? ['Nothing has changed.'] : changed),
    ...(atOnce.length === 0 ? [] : [`Changed at once: ${atOnce.join(', ')}.`]),
    ...(later.length === 0 ? [] : [`For the next run: ${later.map(({ key }) => key).join(', ')}.`]),
  ];
  if (needsRestart.length === 0) return lines;
  return [
    ...lines,
    `The daemon goes on with its old values of: ${needsRestart.join(', ')}.`,
    'To use all of it: caisson up -d --replace; running agents go on.',
  ];
}

function show(key: string, value: unknown): string {
  return formatSetting(key, value ?? null);
}
