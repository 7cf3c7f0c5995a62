/** The part of `caisson run` that needs the engine; loaded while the worker is already starting. */
import { relative } from 'node:path';
import { createCaisson, type DispatchRequest, type SpareWorker } from '@caisson/engine';
import { applyAsking } from '../apply-asking.ts';
import { EXIT_CODES, type ExitCode } from '../exit-codes.ts';
import type { Output } from '../output.ts';
import { tellWarnings } from '../tell-warnings.ts';
import { VERSION } from '../version.ts';
import { watchRun } from '../watch-run.ts';

export interface RunTask {
  readonly request: DispatchRequest;
  readonly stateDir: string | undefined;
  readonly detach: boolean;
  readonly apply: boolean;
  readonly spareWorker: SpareWorker | undefined;
}

export async function runTask(task: RunTask, output: Output): Promise<ExitCode> {
  const { stateDir, spareWorker } = task;
  const caisson = await createCaisson({
    version: VERSION,
    keepsSpareWorker: false,
    ...(spareWorker === undefined ? {} : { spareWorker }),
    ...(stateDir === undefined ? {} : { stateDir }),
  });
  tellWarnings(caisson, output);
  try {
    const request = inFolder(task.request, caisson.config.projectRoot);
    if (task.detach) {
      const runId = await caisson.dispatchDetached(request, [process.argv[1] ?? '']);
      output.result({ runId }, () => runId);
      return EXIT_CODES.finished;
    }
    const handle = await caisson.dispatch(request);
    const code = await watchRun(handle, output, caisson.decide, { isApplied: task.apply });
    if (!task.apply || code !== EXIT_CODES.finished) return code;
    if ((await handle.ended).result?.verify?.passed === false) {
      output.note('Not applied: verify did not pass.');
      return EXIT_CODES.failed;
    }
    return await applyAsking(
      caisson,
      handle.runId,
      { allowRisky: request.allowRisky, stateDir },
      output.format === 'human' ? output : quiet(output),
    );
  } finally {
    await caisson.close();
  }
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
