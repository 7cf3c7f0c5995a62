/** Tools that decide about a run: each is one call of the contract, which records it. */
import { CaissonError } from '@caisson/protocol';
import * as z from 'zod/mini';
import type { Caisson } from '../../caisson-contract.ts';
import type { McpBench, McpTool } from './contract.ts';
import { cutEnd } from './data-text.ts';
import { NotAppliedError } from './errors.ts';
import { findRun } from './find-run.ts';
import { described, parseInput, runName, text } from './input.ts';
import { refuseHigher } from './refuse-higher.ts';

const MAX_FILES = 200;
const MAX_NAMED = 20;

const ApplyInput = z.strictObject({ run: runName() });
const AnswerInput = z.strictObject({
  run: runName(),
  answer: described(text(65_536), 'The answer, in words.'),
});
const CancelInput = z.strictObject({
  run: runName(),
  force: described(z.optional(z.boolean()), 'Kill at once, without grace.'),
});

export function applyTool({ project, bounds }: McpBench): McpTool {
  return {
    name: 'apply',
    description:
      'Apply the patch of a run to the files of this project: all of it or nothing. What is risky, conflicts, or did not pass its check is refused, and a person decides.',
    input: ApplyInput,
    isReadOnly: false,
    isDestructive: true,
    run: (input, { client }) =>
      project.act(client, async (caisson) => {
        const { runId } = await findRun(caisson, bounds, parseInput(ApplyInput, input).run);
        const outcome = await caisson.apply(runId);
        if (outcome.kind !== 'applied') throw notApplied(outcome, runId);
        const { files, already } = outcome;
        return { runId, applied: files.slice(0, MAX_FILES), fileCount: files.length, already };
      }),
  };
}

type Refused = Exclude<Awaited<ReturnType<Caisson['apply']>>, { kind: 'applied' }>;

function notApplied(outcome: Refused, runId: string): NotAppliedError {
  const said = (why: string, names: readonly string[], remedy: string): NotAppliedError =>
    new NotAppliedError(`nothing was changed: ${why}: ${listNames(names)}`, { remedy });
  const look = `A person can look (caisson diff ${runId}) and use caisson apply ${runId}`;
  switch (outcome.kind) {
    case 'check-failed':
      return new NotAppliedError(`nothing was changed: the check of ${runId} did not pass`, {
        remedy: `Read its report with status. A person can apply it all the same: caisson apply ${runId} --force`,
      });
    case 'other-repository':
      return new NotAppliedError(`nothing was changed: ${runId} worked on another repository`, {
        remedy: `A person can apply it here all the same: caisson apply ${runId} --here`,
      });
    case 'dirty':
      return said('these files have uncommitted changes', outcome.files, 'Commit them first.');
    case 'conflicts':
      return said('these files conflict', outcome.files, `${look} --leave-conflicts, or dispatch it again.`);
    case 'outside-scope':
      return said('these files are outside the scope', outcome.files, `${look} --outside-scope.`);
    case 'risky': {
      const names = outcome.risks.map(({ path }) => path);
      return outcome.isRefused
        ? said('these files run by themselves and are never applied', names, `See: caisson diff ${runId}`)
        : said('these files make another program run something', names, `${look} --allow-risky.`);
    }
  }
}

function listNames(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMED).map((name) => cutEnd(name, 200));
  const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : '';
  return `${shown.join(', ')}${more}`;
}

export function answerTool(bench: McpBench): McpTool {
  const { bounds, spent } = bench;
  return {
    name: 'answer',
    description:
      'Answer the question that a run ended with (status waiting). Another run continues with the answer; its id is returned.',
    input: AnswerInput,
    isReadOnly: false,
    run(input, { client }) {
      const { run, answer } = parseInput(AnswerInput, input);
      return carryOn(bench, client, async (caisson) => {
        const { runId } = await findRun(caisson, bounds, run);
        const shown = await caisson.show(runId);
        return await spent.inTurn(async () => {
          await refuseHigher(caisson, bounds, await spent.leftUsd(caisson), shown);
          const handle = await caisson.answer(runId, answer, { within: 'project' }); // M2
          const capUsd = shown.result?.policy.grant.budget.usd ?? null;
          if (handle !== null) spent.started(handle.runId, { capUsd });
          return handle;
        });
      });
    },
  };
}

type Answered = Awaited<ReturnType<Caisson['answer']>>;

/** Without a daemon the run that continues is driven here: the project stays open until it has ended, or the server does. */
function carryOn(
  { project, keep, ending }: McpBench,
  client: string,
  answer: (caisson: Caisson) => Promise<Answered>,
): Promise<Record<string, unknown>> {
  const aborted = new Promise<void>((resolve) =>
    ending.addEventListener('abort', () => resolve(), { once: true }),
  );
  return new Promise((resolve, reject) => {
    const work = project.act(client, async (caisson) => {
      const handle = await answer(caisson);
      const runId = handle?.runId ?? null;
      resolve({ runId, run: runId, next: 'Call wait with this run.' });
      if (handle === null || handle.isElsewhere === true) return;
      await Promise.race([handle.ended.catch(() => undefined), aborted]);
      if (ending.aborted) await caisson.shutdown();
    });
    keep(work.catch(reject));
  });
}

export function cancelTool({ project, bounds }: McpBench): McpTool {
  return {
    name: 'cancel',
    description: 'Stop a run and everything it started. Its work so far is kept.',
    input: CancelInput,
    isReadOnly: false,
    isDestructive: true,
    run: (input, { client }) =>
      project.steer(client, async (caisson) => {
        const { run, force = false } = parseInput(CancelInput, input);
        const { runId } = await findRun(caisson, bounds, run);
        const outcome = await caisson.cancel(runId, { force });
        if (outcome === 'unanswered') throw new UnansweredError(runId);
        if (outcome === 'not-driven') throw new NotDrivenError(runId);
        return { runId, outcome };
      }),
  };
}

/** The host of the run is there and does not react. */
class UnansweredError extends CaissonError {
  readonly code = 'HOST_UNANSWERED';
  override readonly retryable = true;

  constructor(runId: string) {
    super(`${runId} was asked to stop, but its host does not answer`, {
      remedy: 'It obeys once its process runs again; call status to see.',
    });
  }
}

/** The host of the run answers, and does not have the order. */
class NotDrivenError extends CaissonError {
  readonly code = 'RUN_NOT_DRIVEN';
  override readonly retryable = true;

  constructor(runId: string) {
    super(`${runId} was not asked to stop: its host does not drive it now`, {
      remedy: 'Another host may be taking it over: call cancel again in a moment.',
    });
  }
}
