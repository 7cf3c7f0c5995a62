/**
 * Applies a run. If its patch has risky files, or it did not pass its check, the person at the terminal is asked, and everyone
 * else is refused.
 */
import type { ApplyChoice, ApplyResult, Caisson } from '@caisson/engine';
import { shellQuote, type ListedRisk } from '@caisson/protocol';
import { confirmOnTerminal } from './ask-on-terminal.ts';
import { EXIT_CODES, type ExitCode } from './exit-codes.ts';
import type { Output } from './output.ts';
import type { Lines } from './painted.ts';

/** Beside the engine's options: what else the command line says. */
export interface ApplyOrder extends ApplyChoice {
  readonly stateDir?: string | undefined;
}

export async function applyAsking(
  caisson: Pick<Caisson, 'apply' | 'find'>,
  run: string,
  order: ApplyOrder,
  output: Output,
): Promise<ExitCode> {
  const { stateDir, ...first } = order;
  const runId = await caisson.find(run);
  let choice: ApplyChoice = first;
  for (;;) {
    const outcome = await caisson.apply(runId, choice);
    const more = await askAbout(outcome, output, runId);
    if (more === null) return printApplied(outcome, output, runId, { ...choice, stateDir });
    choice = { ...choice, ...more };
  }
}

/** What the person adds to the choice; null where there is nothing to ask, nobody to be asked, or the answer is no. */
async function askAbout(outcome: ApplyResult, output: Output, runId: string): Promise<ApplyChoice | null> {
  if (outcome.kind === 'check-failed') {
    output.note(`Its check did not pass: caisson show ${runId}`);
    if (!output.isInteractive) return null;
    return (await confirmOnTerminal(output, 'Apply it all the same?')) ? { evenIfCheckFailed: true } : null;
  }
  if (outcome.kind !== 'risky' || outcome.isRefused || !output.isInteractive) return null;
  output.note([...listRisks(outcome.risks), `  look first: caisson diff ${runId}`]);
  return (await confirmOnTerminal(output, 'Apply these, too?')) ? { allowRisky: true } : null;
}

/** Risky files, a line each. */
export function listRisks(risks: readonly ListedRisk[]): Lines {
  return risks.map(({ path, why }) => `  ${path} ${why}`);
}

const ALREADY = {
  'in-place': 'Nothing to apply: the run worked in place, so its changes are already in your files.',
  there: 'Nothing to apply: your files are already as the patch makes them.',
} as const;

/** Conflicts and dirty files are a failure for a shell; what is risky is denied. */
function printApplied(outcome: ApplyResult, output: Output, runId: string, order: ApplyOrder): ExitCode {
  const more = whatHelps(outcome);
  const next = nextCommand(runId, { ...order, ...more });
  output.result({ ...outcome, ...(more === null ? {} : { next }) }, () =>
    describe(outcome, order, runId, next),
  );
  if (outcome.kind === 'risky') return EXIT_CODES.policyDenied;
  return outcome.kind === 'applied' ? EXIT_CODES.finished : EXIT_CODES.failed;
}

/** With it the same patch is applied. */
function whatHelps(outcome: ApplyResult): ApplyChoice | null {
  switch (outcome.kind) {
    case 'outside-scope':
      return { allowOutsideScope: true };
    case 'check-failed':
      return { evenIfCheckFailed: true };
    case 'other-repository':
      return { here: true };
    case 'risky':
      return outcome.isRefused ? null : { allowRisky: true };
    default:
      return null;
  }
}

function nextCommand(runId: string, order: ApplyOrder): string {
  const { allowRisky, allowOutsideScope, leaveConflicts, here, stateDir, only = [] } = order;
  const force = order.force === true || order.evenIfCheckFailed === true;
  const words = [
    ...['caisson', 'apply', runId],
    ...only.flatMap(({ path }) => ['--file', shellQuote(path)]),
    ...(allowRisky === true ? ['--allow-risky'] : []),
    ...(allowOutsideScope === true ? ['--outside-scope'] : []),
    ...(leaveConflicts === true ? ['--leave-conflicts'] : []),
    ...(force ? ['--force'] : []),
    ...(here === true ? ['--here'] : []),
    ...(stateDir === undefined ? [] : ['--state-dir', shellQuote(stateDir)]),
  ];
  return words.join(' ');
}

function describe(outcome: ApplyResult, order: ApplyOrder, runId: string, next: string): Lines {
  const list = outcome.files.map((file) => `  ${file}`);
  switch (outcome.kind) {
    case 'applied':
      if (outcome.already !== undefined) return [ALREADY[outcome.already]];
      return outcome.files.length === 0
        ? ['Nothing to apply: the run changed no file.']
        : [`Applied to ${outcome.files.length === 1 ? '1 file' : `${outcome.files.length} files`}:`, ...list];
    case 'dirty':
      return [
        'Nothing was changed: these files have uncommitted changes. Commit them, or use --force to merge.',
        ...list,
      ];
    case 'conflicts':
      return [describeConflicts(outcome.areMarkersLeft, order), ...list];
    case 'check-failed':
      return [`Nothing was changed. To apply it all the same: ${next}`];
    case 'other-repository':
      return [
        `Nothing was changed: the run worked on ${outcome.remote}, not on the files here.`,
        `To apply its patch here all the same: ${next}`,
      ];
    case 'outside-scope':
      return [
        'Nothing was changed: these files are outside the scope of the task.',
        ...list,
        `Look at them (caisson diff ${runId}), then: ${next}`,
      ];
    case 'risky':
      return outcome.isRefused
        ? [
            `Nothing was changed: these files run by themselves and are never applied. Copy what you want from: caisson diff ${runId}`,
            ...listRisks(outcome.risks),
          ]
        : [
            'Nothing was changed: these files make another program run something.',
            ...listRisks(outcome.risks),
            `Look at them (caisson diff ${runId}), then: ${next}`,
          ];
  }
}

function describeConflicts(areMarkersLeft: boolean, order: ApplyOrder): string {
  if (areMarkersLeft) return 'Merged with conflicts; look for markers in:';
  return order.leaveConflicts === true
    ? 'Nothing was changed: no markers can show how these files conflict. caisson retry repeats the task on the present files.'
    : 'Nothing was changed: these files conflict. --leave-conflicts writes markers.';
}
