/** Stage 4: the attempt is on disk, then its worker exists (D2). */
import { shareTurn } from '@caisson/ground';
import { ADOPTION_VERSION, definedOnly, type Adoptable, type Job } from '@caisson/protocol';
import type { WorkerProcess } from '../compute/index.ts';
import type { AdmittedRun, DispatchRooms } from '../admission/index.ts';
import type { PreparedAttempt } from './prepare.ts';
import type { RunRecord } from '../ledger/index.ts';

export async function launch(
  rooms: DispatchRooms,
  run: AdmittedRun,
  record: RunRecord,
  prepared: PreparedAttempt,
): Promise<WorkerProcess> {
  const { settings } = rooms;
  await shareTurn();
  const worker = await rooms.compute.start({
    runId: run.runId,
    attempt: prepared.attempt,
    jobFile: prepared.paths.job,
    mode: run.grant.mode,
    boardFile: prepared.job.paths.board,
    contextFile: prepared.job.paths.context,
    trace: run.trace,
    path: settings.path,
    cwd: settings.stateDir,
  });
  // The worker waits for `go`, which is sent only after this event and `dispatch.started` are durable.
  try {
    await shareTurn();
    const { attempt, nonce, workspace } = prepared;
    const launched = {
      handle: { ...worker.handle },
      nonce,
      workspace: { ...workspace },
      ...definedOnly({ adoption: describeAdoption(run, prepared.job) }),
      ...(prepared.job.secrets.length === 0 ? {} : { hasSecrets: true as const }),
    };
    await Promise.all([
      rooms.workspaces.sync(workspace),
      record.append('attempt.launched', launched, { attempt }),
    ]);
    return worker;
  } catch (error) {
    await rooms.compute.stop(worker.handle); // no process would ever find it again
    throw error;
  }
}

/** What the next host needs, if the worker goes on without this one. */
function describeAdoption(run: AdmittedRun, { adoption }: Job): Adoptable | undefined {
  if (adoption === undefined) return undefined;
  const { timeoutMs, stallTimeoutMs, runtime } = run;
  const { withinMs } = adoption;
  const common = { version: ADOPTION_VERSION, withinMs, timeoutMs, stallTimeoutMs };
  return runtime.descriptor.reportsUsageOnce === true ? { ...common, reportsUsageOnce: true } : common;
}
