/** Applies a run; if its patch has risky files, the person at the terminal is asked, and everyone else is refused. */
import type { ApplyChoice, ApplyResult, Caisson } from '@caisson/engine';
import { shellQuote, type ListedRisk } from '@caisson/protocol';
import { confirmOnTerminal } from './ask-on-terminal.ts';
import { EXIT_CODES, type ExitCode } from './exit-codes.ts';
import type { Output } from './output.ts';
import type { Lines } from './painted.ts';

/** Beside the engine's options: what else the command line says. */
export interface ApplyOrder extends ApplyChoice {
  readonly stateDir?: string | undefined;
  /** The files here are meant, although the run worked on a remote repository. */
  readonly here?: boolean | undefined;
}

export async function applyAsking(
  caisson: Pick<Caisson, 'apply' | 'find'>,
  run: string,
  order: ApplyOrder,
  output: Output,
): Promise<ExitCode> {
  const { stateDir: _, here: __, ...choice } = order;
  const runId = await caisson.find(run);
  const first = await caisson.apply(runId, choice);
  const isAllowed =
    first.kind === 'risky' && !first.isRefused && (await askAbout(first.risks, output, runId));
  const outcome = isAllowed ? await caisson.apply(runId, { ...choice, allowRisky: true }) : first;
  return printApplied(outcome, output, runId, order);
}

async function askAbout(risks: readonly ListedRisk[], output: Output, runId: string): Promise<boolean> {
  if (!output.isInteractive) return false;
  output.note([...listRisks(risks), `  look first: caisson diff ${runId}`]);
  return await confirmOnTerminal(output, 'Apply these, too?');
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
  const next = nextCommand(runId, {
    ...order,
    ...(outcome.kind === 'outside-scope' ? { allowOutsideScope: true } : { allowRisky: true }),
  });
  const isAskable = outcome.kind === 'outside-scope' || (outcome.kind === 'risky' && !outcome.isRefused);
  output.result({ ...outcome, ...(isAskable ? { next } : {}) }, () => describe(outcome, order, runId, next));
  if (outcome.kind === 'risky') return EXIT_CODES.policyDenied;
  return outcome.kind === 'applied' ? EXIT_CODES.finished : EXIT_CODES.failed;
}

function nextCommand(runId: string, order: ApplyOrder): string {
  const { allowRisky, allowOutsideScope, leaveConflicts, force, here, stateDir, only = [] } = order;
  const words = [
    ...['caisson', 'apply', runId],
    ...only.flatMap(({ path }) => ['--file', shellQuote(path)]),
    ...(allowRisky === true ? ['--allow-risky'] : []),
    ...(allowOutsideScope === true ? ['--outside-scope'] : []),
    ...(leaveConflicts === true ? ['--leave-conflicts'] : []),
    ...(force === true ? ['--force'] : []),
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
