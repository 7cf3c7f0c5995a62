/** The part of `caisson run` that needs the engine; loaded while the worker is already starting. */
import { relative } from 'node:path';
import type { Caisson, DispatchRequest } from '@caisson/engine';
import type { DispatchResult } from '@caisson/protocol';
import { applyAsking } from '../apply-asking.ts';
import { orWithLogin } from '../agree-to-login.ts';
import { EXIT_CODES, type ExitCode } from '../exit-codes.ts';
import type { Detail } from '../live-view.ts';
import type { Output } from '../output.ts';
import { watchRun } from '../watch-run.ts';
import { withCaissonToWork } from '../with-caisson.ts';

export interface RunTask {
  readonly request: DispatchRequest;
  readonly stateDir: string | undefined;
  readonly detach: boolean;
  readonly apply: boolean;
  readonly detail: Detail;
  readonly isVerifyReportOnly: boolean;
}

export async function runTask(task: RunTask, output: Output): Promise<ExitCode> {
  return await withCaissonToWork(task.stateDir, output, (caisson) => carryOut(caisson, task, output));
}

async function carryOut(caisson: Caisson, task: RunTask, output: Output): Promise<ExitCode> {
  const request = inFolder(task.request, caisson.config.projectRoot);
  if (task.detach) {
    const runId = await orWithLogin(request, output, (asked) =>
      caisson.dispatchDetached(asked, [process.argv[1] ?? '']),
    );
    output.result({ runId }, () => [runId]);
    return EXIT_CODES.finished;
  }
  const begin = () => orWithLogin(request, output, (asked) => caisson.dispatch(asked));
  const { result, code } = await watchRun(caisson, begin, output, {
    isApplied: task.apply,
    detail: task.detail,
    isVerifyReportOnly: task.isVerifyReportOnly,
  });
  if (!task.apply || result.status !== 'done') return code;
  const refusal = whyNotApplied(result, request);
  if (refusal !== null) {
    output.note(`Not applied: ${refusal}`);
    return EXIT_CODES.failed;
  }
  const order = { allowRisky: request.allowRisky, stateDir: task.stateDir };
  const applied = await applyAsking(
    caisson,
    result.runId,
    order,
    output.format === 'human' ? output : quiet(output),
  );
  return applied === EXIT_CODES.finished ? code : applied;
}

/** What is applied without a review must have passed in a place that only the patch can influence. */
function whyNotApplied({ runId, result }: DispatchResult, request: DispatchRequest): string | null {
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
