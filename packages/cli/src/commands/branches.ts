import type { ListedBranch } from '@caisson/engine';
import { defineCommand } from '../command.ts';
import { EXIT_CODES, type ExitCode } from '../exit-codes.ts';
import { formatTable } from '../format-table.ts';
import type { Output } from '../output.ts';
import type { Lines } from '../painted.ts';
import { UsageError } from '../usage-error.ts';
import { withCaisson, withCaissonToRead } from '../with-caisson.ts';

export const command = defineCommand({
  usage: '[RUN] [--push | --drop]',
  about:
    'Lists branches that wait for you: of runs that ran out of time (caisson continue RUN "…" goes on from them), and those\n' +
    'of runs on a remote repository that are not there yet. Such a branch is kept here until it is pushed or dropped. One that\n' +
    'was not made (files outside the scope, risky files, a name that was taken) is listed with the command that makes it.',
  options: {
    push: { type: 'boolean', summary: 'push the branch of the run, or all that are not on their remote yet' },
    drop: {
      type: 'boolean',
      summary: "delete the run's branch here; its work stays in its checkpoint and patch",
    },
  },
  positionals: { min: 0, max: 1 },
  examples: [
    { line: 'caisson branches', says: 'What is not on its remote yet, and why.' },
    { line: 'caisson branches --push', says: 'Try all of them once more.' },
    { line: 'caisson branches run_01k… --drop', says: 'Give one up.' },
  ],
  async run({ options, positionals, output }) {
    const { push, drop, 'state-dir': stateDir } = options;
    const [run] = positionals;
    if (push && drop) throw new UsageError('--push and --drop exclude each other.');
    if (push) return await pushAll(stateDir, run, output);
    if (!drop) return await list(stateDir, run, output);
    if (run === undefined) throw new UsageError('--drop needs the run whose branch is deleted here.');
    return await withCaisson(stateDir, async (caisson) => {
      const runId = await caisson.find(run);
      const isUnmade = (await caisson.branches()).some(
        (row) => row.runId === runId && row.unmade !== undefined,
      );
      const dropped = await caisson.dropBranch(runId);
      const what = isUnmade ? 'off the list' : 'deleted here';
      output.result({ dropped }, () => [
        `the branch of ${dropped} is ${what}; its work: caisson diff ${dropped}`,
      ]);
      return EXIT_CODES.finished;
    });
  },
});

async function list(
  stateDir: string | undefined,
  run: string | undefined,
  output: Output,
): Promise<ExitCode> {
  return await withCaissonToRead(stateDir, output, async (caisson) => {
    const runId = run === undefined ? undefined : await caisson.find(run);
    const found = (await caisson.branches()).filter((row) => runId === undefined || row.runId === runId);
    output.result(found, () => (found.length === 0 ? ['No branch waits.'] : describe(found, output)));
    return EXIT_CODES.finished;
  });
}

function describe(found: readonly ListedBranch[], output: Output): Lines {
  const rows = found.map(({ runId, branch, status, push, unmade }) => [
    runId,
    branch,
    status === 'timeout' ? 'timed out' : status,
    unmade !== undefined
      ? `not made: ${whyUnmade(unmade)}`
      : push === undefined
        ? 'in this repository'
        : describeStanding(push),
  ]);
  const table = formatTable([['RUN', 'BRANCH', 'ENDED', 'WHERE'], ...rows], output.style.bold);
  return [...table, ...found.flatMap(describeUnmade)];
}

/** Before its remedy, which has a whole command. */
function whyUnmade(unmade: string): string {
  return unmade.split('; ')[0] ?? unmade;
}

function describeUnmade({ runId, unmade = '' }: ListedBranch): Lines {
  const remedy = unmade.slice(whyUnmade(unmade).length + 2);
  return remedy === '' ? [] : ['', `${runId}: ${remedy}`];
}

function describeNothing(listed: number): string {
  if (listed === 0) return 'No branch waits to be pushed.';
  const are = listed === 1 ? 'is 1' : `are ${listed}`;
  return `No branch waits to be pushed; there ${are} that only you can make or drop: caisson branches`;
}

function describeStanding({ status, remote, reason, detail }: NonNullable<ListedBranch['push']>): string {
  if (status === 'pushed') return `pushed to ${remote}`;
  return status === 'pending'
    ? `not pushed to ${remote}`
    : `not pushed to ${remote}: ${reason ?? ''}, ${detail ?? ''}`;
}

/** One that cannot be pushed does not keep the others here. */
async function pushAll(
  stateDir: string | undefined,
  run: string | undefined,
  output: Output,
): Promise<ExitCode> {
  return await withCaisson(
    stateDir,
    async (caisson) => {
      const listed = await caisson.branches();
      const waiting = listed.filter(({ push }) => push !== undefined && push.status !== 'pushed');
      const runIds = run === undefined ? waiting.map(({ runId }) => runId) : [await caisson.find(run)];
      const outcomes: ({ runId: string } & NonNullable<ListedBranch['push']>)[] = [];
      for (const runId of runIds) outcomes.push({ runId, ...(await caisson.pushBranch(runId)) });
      output.result(outcomes, () =>
        outcomes.length === 0
          ? [describeNothing(listed.length)]
          : outcomes.map((outcome) => `${outcome.runId} ${outcome.branch}: ${describeStanding(outcome)}`),
      );
      return outcomes.every(({ status }) => status === 'pushed') ? EXIT_CODES.finished : EXIT_CODES.failed;
    },
    output,
  );
}
