/** The part of `run`, `continue` and `retry` that needs the engine; loaded while the worker is already starting. */
import { answerRun } from '../answer-run.ts';
import { relative } from 'node:path';
import { rehearseRun, type Caisson, type DispatchRequest } from '@caisson/engine';
import { CaissonError, definedOnly, type DispatchResult } from '@caisson/protocol';
import { applyAsking } from '../apply-asking.ts';
import { orWithLogin } from '../agree-to-login.ts';
import { askOnTerminal } from '../ask-on-terminal.ts';
import { createAttachment } from '../attach.ts';
import { EXIT_CODES, type ExitCode } from '../exit-codes.ts';
import { formatStatus } from '../format-status.ts';
import { cutToWidth } from '../format-values.ts';
import { oneLine } from '../format-work.ts';
import type { Detail } from '../live-view.ts';
import type { Output } from '../output.ts';
import { line } from '../painted.ts';
import { printError } from '../print-error.ts';
import { UsageError } from '../usage-error.ts';
import { watchRun, type Begin, type WatchedRun } from '../watch-run.ts';
import { withCaissonToWork } from '../with-caisson.ts';

export interface RunTask {
  /** What a continued run is to do differently. */
  readonly request: DispatchRequest;
  readonly continued: Continued | null;
  readonly stateDir: string | undefined;
  readonly detach: boolean;
  readonly apply: boolean;
  readonly detail: Detail;
  readonly isVerifyReportOnly: boolean;
  readonly interactive: boolean;
}

/** The run to continue, by default the one that ended last; without a text its own task is repeated. */
export interface Continued {
  readonly run: string | null;
  readonly text: string | null;
}

export async function runTask(task: RunTask, output: Output): Promise<ExitCode> {
  let { request: asked } = task;
  const rehearse = async (config: Caisson['config']): Promise<void> => {
    asked = await rehearseFirst(task, config, output);
  };
  const work = async (caisson: Caisson): Promise<ExitCode> => {
    const request = await findRequest(caisson, { ...task, request: asked }, output);
    if (task.detach) {
      const runId = await orWithLogin(request, output, (agreed) =>
        caisson.dispatchDetached(agreed, [process.argv[1] ?? '']),
      );
      output.result({ runId }, () => [runId]);
      return EXIT_CODES.finished;
    }
    const attachment = request.argv === undefined ? undefined : createAttachment(output);
    const begin: Begin = (whileAsking) =>
      orWithLogin(request, output, (agreed) => caisson.dispatch(agreed, attachment), whileAsking);
    const isStreamed = attachment?.write !== undefined;
    const first = await carryOut(caisson, { task, request, isStreamed }, begin, output);
    if (task.interactive) return await goOn(caisson, { task, request }, first, output);
    return (await applyEnded(caisson, { task, request }, first, output)).code;
  };
  return await withCaissonToWork(task.stateDir, output, work, task.continued === null ? rehearse : undefined);
}

/** A first run that is refused leaves nothing behind: no state folder is made for it. */
async function rehearseFirst(
  { request }: RunTask,
  config: Caisson['config'],
  output: Output,
): Promise<DispatchRequest> {
  return await orWithLogin(request, output, async (agreed) => {
    await rehearseRun(agreed, config);
    return agreed;
  });
}

async function findRequest(
  caisson: Caisson,
  { request, continued }: RunTask,
  output: Output,
): Promise<DispatchRequest> {
  if (continued === null) return inFolder(request, caisson.config.projectRoot);
  const run = continued.run ?? (await findLastEnded(caisson));
  const next = await caisson.continuation(run, continued.text, withoutEmpty(request));
  const { branch } = await caisson.show(run);
  if (continued.run === null) await noteContinued(caisson, run, output);
  if (branch !== undefined && next.branch === undefined)
    output.note(
      line`The branch ${branch.name} is checked out or was moved, so this run leaves it alone; --branch NAME makes another one.`,
    );
  return next;
}

/** Nobody named the run, so the first line does. */
async function noteContinued(caisson: Caisson, run: string, output: Output): Promise<void> {
  const [row] = await caisson.runs({ ids: [run] });
  if (row === undefined) return;
  const task = cutToWidth(oneLine(row.description), MAX_TASK_COLUMNS);
  output.note(`continues ${row.runId} (${formatStatus(row)}: ${task})`);
}

const MAX_TASK_COLUMNS = 60;
const PAGE = 20;

/** A run that another one dispatched ends before that one. */
async function findLastEnded(caisson: Caisson): Promise<string> {
  const order = { order: 'ended', newestFirst: true, limit: PAGE } as const;
  for (let page = await caisson.runs(order), last = page.at(-1); last !== undefined; last = page.at(-1)) {
    for (const { runId, forgottenAt } of page)
      if (forgottenAt === undefined || !(await isForgotten(caisson, runId))) return runId;
    page = await caisson.runs({ ...order, after: last.runId });
  }
  throw new UsageError('no run of this project has ended, so there is nothing to continue', {
    remedy: 'Begin with caisson run "…"; caisson send latest "…" reaches a running agent.',
  });
}

/** The mark in a list finds it; the event counts. */
async function isForgotten(caisson: Caisson, runId: string): Promise<boolean> {
  return (await caisson.events(runId)).some(({ type }) => type === 'run.forgotten');
}

/** An option that was not given changes nothing. */
function withoutEmpty(request: DispatchRequest): DispatchRequest {
  const given = Object.entries(request).filter(
    ([, value]) => value !== false && (typeof value !== 'object' || Object.keys(value ?? {}).length > 0),
  );
  return Object.fromEntries(given);
}

interface Ordered {
  readonly task: RunTask;
  readonly request: DispatchRequest;
  readonly isStreamed?: boolean;
}

/** A refusal ends nothing: another text may work. */
async function goOn(caisson: Caisson, order: Ordered, first: WatchedRun, output: Output): Promise<ExitCode> {
  const apply = async (ended: WatchedRun): Promise<WatchedRun> =>
    (await orPrinted(output, () => applyEnded(caisson, order, ended, output))) ?? {
      ...ended,
      code: EXIT_CODES.failed,
    };
  let last = await apply(first);
  const { env, passEnv } = order.task.request;
  const given = definedOnly({ env, passEnv }); // the values that were given are not stored
  for (;;) {
    const { runId, status } = last.result;
    if (status === 'interrupted') return last.code;
    const isQuestion = status === 'waiting';
    const asked = isQuestion ? 'Your answer?' : 'What next?';
    const text = await askOnTerminal(output, line`${output.style.bold(asked)}  an empty line ends`);
    if (text === '') return last.code;
    const begin = () =>
      isQuestion ? answerRun(caisson, runId, text, given) : caisson.continue(runId, text, given);
    const next = await orPrinted(output, () => carryOut(caisson, order, begin, output));
    if (next !== null) last = await apply(next);
  }
}

async function orPrinted<T>(output: Output, act: () => Promise<T>): Promise<T | null> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof CaissonError)) throw error;
    printError(error, output, false);
    return null;
  }
}

function carryOut(
  caisson: Caisson,
  { task, isStreamed = false }: Ordered,
  begin: Begin,
  output: Output,
): Promise<WatchedRun> {
  const { apply: isApplied, detail, isVerifyReportOnly, stateDir } = task;
  return watchRun(caisson, begin, output, { isApplied, detail, isStreamed, isVerifyReportOnly, stateDir });
}

async function applyEnded(
  caisson: Caisson,
  { task, request }: Ordered,
  watched: WatchedRun,
  output: Output,
): Promise<WatchedRun> {
  const { result } = watched;
  if (!task.apply || result.status !== 'done') return watched;
  const refusal = whyNotApplied(result, request);
  if (refusal !== null) {
    output.note(`Not applied: ${refusal}`);
    return { result, code: EXIT_CODES.failed };
  }
  const order = { allowRisky: request.allowRisky, stateDir: task.stateDir };
  const target = output.format === 'human' ? output : quiet(output);
  const applied = await applyAsking(caisson, result.runId, order, target);
  return applied === EXIT_CODES.finished ? watched : { result, code: applied };
}

/** What is applied without a review must have passed in a place that only the patch can influence. */
function whyNotApplied(
  { runId, result, repository }: DispatchResult,
  request: DispatchRequest,
): string | null {
  if (repository !== undefined && result?.patchRef !== undefined)
    return `the run worked on ${repository.remote}; here all the same: caisson apply ${runId} --here`;
  const { verify, policy } = result ?? {};
  if (verify === undefined) return null;
  if (!verify.passed) return 'verify did not pass.';
  const isWeaker = verify.lens === 'verify' && policy?.grant.sandbox === 'none';
  if (!isWeaker || request.verifyLens !== undefined || request.workspace === 'in-place') return null;
  return `verify ran in the workspace of the agent, which has no sandbox. Check it (caisson diff ${runId}) and apply it with caisson apply ${runId}, or accept such a check with --verify-lens verify.`;
}

/** A command with relative paths is relative to the folder it was typed in. */
function inFolder(request: DispatchRequest, projectRoot: string): DispatchRequest {
  if (request.argv === undefined) return request;
  const folder = relative(projectRoot, process.cwd());
  return folder === '' || folder.startsWith('..') ? request : { ...request, folder };
}

/** With `-o json` stdout has one object, the result; the outcome of the apply is a remark. */
function quiet(output: Output): Output {
  return { ...output, result: (_value, human) => output.note(human()) };
}
