/**
 * Stage 4: the worker exists, and waits for `go`, which it gets after `attempt.launched` and `dispatch.started` are on disk,
 * in one commit (D2). A worker whose host dies before that ends by itself, and recovery ends it by its mark.
 */
import { shareTurn } from '@caisson/ground';
import {
  ADOPTION_VERSION,
  definedOnly,
  type Adoptable,
  type EventContent,
  type Job,
} from '@caisson/protocol';
import { attemptKey, type WorkerProcess } from '../compute/index.ts';
import { describeProgram, type ProgramFile } from '../discovery/index.ts';
import type { AdmittedRun, DispatchRooms } from '../admission/index.ts';
import type { PreparedAttempt } from './prepare.ts';

/** What a later host needs to find a worker again, and when it was started. */
export type LaunchEvent = EventContent<'attempt.launched'> & { readonly at: string };

/** A worker that waits for `go`, and what is recorded before it gets that. */
export interface LaunchedAttempt {
  readonly worker: WorkerProcess;
  readonly launched: LaunchEvent;
  /** What it will start. */
  readonly program: ProgramFile | null;
}

export async function launch(
  rooms: DispatchRooms,
  run: AdmittedRun,
  prepared: PreparedAttempt,
): Promise<LaunchedAttempt> {
  const { settings } = rooms;
  await shareTurn();
  const worker = await rooms.compute.start({
    key: attemptKey(run.runId, prepared.attempt),
    jobFile: prepared.paths.job,
    env: describeAttempt(run, prepared),
    path: settings.path,
    cwd: settings.stateDir,
    expected: { usesNetwork: run.runtime.name !== 'command' },
  });
  const at = rooms.clock.now().toISOString();
  try {
    const [program] = await Promise.all([describeProgram(run.runtime.bin, settings.path), prepared.synced]);
    const { nonce, workspace } = prepared;
    const data = {
      handle: { ...worker.handle },
      nonce,
      workspace: { ...workspace },
      ...definedOnly({ adoption: describeAdoption(run, prepared.job), program: program?.state }),
      ...(prepared.job.secrets.length === 0 ? {} : { hasSecrets: true as const }),
    };
    return { worker, launched: { type: 'attempt.launched', data, at }, program };
  } catch (error) {
    await rooms.compute.stop(worker.handle); // no process would ever find it again
    throw error;
  }
}

function describeAttempt(
  { runId, grant, trace }: AdmittedRun,
  { attempt, job: { paths } }: PreparedAttempt,
): Record<string, string> {
  return definedOnly({
    CAISSON_RUN_ID: runId,
    CAISSON_ATTEMPT: String(attempt),
    CAISSON_SAFETY: grant.mode,
    TRACEPARENT: trace,
    CAISSON_BOARD_FILE: paths.board ?? undefined,
    CAISSON_CONTEXT_FILE: paths.context ?? undefined,
  });
}

/** What the next host needs, if the worker goes on without this one. */
function describeAdoption(run: AdmittedRun, { adoption }: Job): Adoptable | undefined {
  if (adoption === undefined) return undefined;
  const { timeoutMs, stallTimeoutMs, runtime } = run;
  const { withinMs } = adoption;
  const common = { version: ADOPTION_VERSION, withinMs, timeoutMs, stallTimeoutMs };
  return runtime.descriptor.reportsUsageOnce === true ? { ...common, reportsUsageOnce: true } : common;
}
