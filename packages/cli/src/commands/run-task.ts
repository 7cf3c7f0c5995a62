/** The part of `caisson run` that needs the engine; loaded while the worker is already starting. */
import { relative } from 'node:path';
import type { Caisson, DispatchRequest, SpareWorker } from '@caisson/engine';
import { EXIT_CODES, type ExitCode } from '../exit-codes.ts';
import type { Output } from '../output.ts';
import { watchRun } from '../watch-run.ts';
import { withCaissonToWork } from '../with-caisson.ts';
import { printApplied } from './apply.ts';

export interface RunTask {
  readonly request: DispatchRequest;
  readonly stateDir: string | undefined;
  readonly detach: boolean;
  readonly apply: boolean;
  readonly spareWorker: SpareWorker | undefined;
}

export async function runTask(task: RunTask, output: Output): Promise<ExitCode> {
  const { stateDir, spareWorker } = task;
  return await withCaissonToWork(
    stateDir,
    output,
    (caisson) => carryOut(caisson, task, output),
    spareWorker === undefined ? {} : { spareWorker },
  );
}

async function carryOut(caisson: Caisson, task: RunTask, output: Output): Promise<ExitCode> {
  const request = inFolder(task.request, caisson.config.projectRoot);
  if (task.detach) {
    const runId = await caisson.dispatchDetached(request, [process.argv[1] ?? '']);
    output.result({ runId }, () => [runId]);
    return EXIT_CODES.finished;
  }
  const handle = await caisson.dispatch(request);
  const code = await watchRun(handle, output, caisson.decide, { isApplied: task.apply });
  if (!task.apply || code !== EXIT_CODES.finished) return code;
  if ((await handle.ended).result?.verify?.passed === false) {
    output.note('Not applied: verify did not pass.');
    return EXIT_CODES.failed;
  }
  return printApplied(await caisson.apply(handle.runId), output.format === 'human' ? output : quiet(output));
}

/** A command with relative paths means the folder it was typed in. */
function inFolder(request: DispatchRequest, projectRoot: string): DispatchRequest {
  if (request.argv === undefined) return request;
  const folder = relative(projectRoot, process.cwd());
  return folder === '' || folder.startsWith('..') ? request : { ...request, folder };
}

/** With `-o json` stdout carries one object, the result; how the apply went is a remark. */
function quiet(output: Output): Output {
  return { ...output, result: (_value, human) => output.note(human()) };
}
