/**
 * One attempt, from job to result: the fourteen steps.
 *
 *  1 parse job · 2 load runtime adapter · 3 re-hash inputs · 4 wire the emitter · 5 ready, wait for go · 6 overlay · 7
 *  take secrets · 8 merge env · 9 setup scripts · 10 open channel · 11 pipeline · 12 close channel · 13 read the
 *  sentinel · 14 seal
 *
 * W1  Nothing of the agent runs before `go`.
 * W2  Every ending except a lost host writes exactly one result.
 * W3  When the host is gone the sandbox is killed at once; there is no reader for a report.
 */
import { createRedactor } from '@caisson/ground';
import type { Job } from '@caisson/protocol';
import {
  createAttemptContext,
  deny,
  type AttemptContext,
  type Control,
  type WorkerEnvironment,
  startHeartbeat,
  watchHost,
  describeThrown,
  inStep,
  StepFailure,
  endingOfOrder,
  StoppedError,
  createLineWriter,
  selfStartTime,
} from './attempt/index.ts';
import { runPayload } from './payload.ts';
import { sealAttempt, type AttemptEnding } from './pipeline/index.ts';
import {
  loadDriver,
  mergeEnv,
  concludePreparation,
  overlayCapabilities,
  checkJob,
  placeAnswer,
  readSentinel,
  rehashInputs,
  runSetup,
} from './steps/index.ts';

/** Carries out the job and returns the worker's exit code. */
export async function carryOut(job: Job, environment: WorkerEnvironment, control: Control): Promise<number> {
  const startedAt = performance.now();
  const redactor = createRedactor(job.secrets);
  const { runId, attempt, paths } = job;
  const writer = createLineWriter({ runId, attempt, eventsFile: paths.events, redactor }); // step 4
  const context = createAttemptContext({ job, writer, control, redactor, path: environment.path });
  const stopWatching =
    environment.parentPid === null
      ? () => undefined
      : watchHost(environment.parentPid, control.reportHostLost);
  dieWithHost(context, control);
  writer.header(job.grant);
  writer.write({ kind: 'worker.boot', pid: process.pid, startTime: selfStartTime() });
  const stopBeating = startHeartbeat(context);
  const uncaught = catchUncaught(context);
  const ending = await Promise.race([findEnding(context, environment), uncaught.ending]);
  try {
    await seal(context, ending, Math.round(performance.now() - startedAt));
  } finally {
    uncaught.release();
  }
  stopBeating();
  stopWatching();
  control.close();
  writer.close();
  return ending.kind === 'finished' || ending.kind === 'needs_input' ? 0 : 1;
}

/** W3 */
function dieWithHost(context: AttemptContext, control: Control): void {
  control.stop.addEventListener('abort', () => {
    if ((control.stop.reason as { kind: string }).kind !== 'host-lost') return;
    context.running?.kill();
    process.exit(75);
  });
}

/** Step 14. Reports a result that cannot be written; the host uses that line if it has no result. */
async function seal(context: AttemptContext, ending: AttemptEnding, durationMs: number): Promise<void> {
  try {
    await inStep(14, 'worker-failed', () => sealAttempt(context, ending, durationMs));
  } catch (error) {
    if (!(error instanceof StepFailure)) throw error;
    context.writer.write({ kind: 'dispatch.failed', durationMs, failure: error.failure });
  }
}

async function findEnding(context: AttemptContext, environment: WorkerEnvironment): Promise<AttemptEnding> {
  try {
    await prepare(context, environment);
    const failure = await runPayload(context);
    return await settleSentinel(context, failure);
  } catch (error) {
    if (error instanceof StoppedError || context.control.stop.aborted)
      return endingOfOrder(context.control.stop.reason);
    return failedOf(error);
  }
}

function failedOf(error: unknown, step?: number): AttemptEnding {
  if (error instanceof StepFailure) return { kind: 'failed', failure: error.failure };
  const detail = describeThrown(error).slice(0, 8000);
  const where = step === undefined ? {} : { step };
  return { kind: 'failed', failure: { reason: 'worker-failed', detail, ...where } };
}

/**
 * W2 for unhandled errors: the sandbox is ended, and the attempt with it. Once an ending is known it changes nothing.
 */
function catchUncaught(context: AttemptContext): { ending: Promise<AttemptEnding>; release(): void } {
  const caught = Promise.withResolvers<AttemptEnding>();
  const onUncaught = (error: unknown): void => {
    const { running, control, job } = context;
    running?.kill();
    const ending = control.stop.aborted
      ? endingOfOrder(control.stop.reason)
      : failedOf(job.runtime.adapter === undefined ? error : unawaited(error, job.runtime.name), 11);
    void (running?.exited ?? Promise.resolve()).then(() => caught.resolve(ending));
  };
  process.on('uncaughtException', onUncaught);
  return { ending: caught.promise, release: () => process.off('uncaughtException', onUncaught) };
}

/** Our own code has no unhandled errors, so the user's adapter is the likely cause. */
function unawaited(error: unknown, name: string): string {
  return `an unhandled error, most likely in the adapter of the runtime "${name}": ${describeThrown(error)}`;
}

async function prepare(context: AttemptContext, environment: WorkerEnvironment): Promise<void> {
  const { job, writer, control } = context;
  await inStep(1, 'integrity-failed', () => checkJob(job, environment));
  context.driver = await inStep(2, 'worker-failed', () => loadDriver(job));
  await inStep(3, 'integrity-failed', () => rehashInputs(job));
  writer.write({ kind: 'worker.ready' });
  await control.waitForGo(); // W1
  const setup = await inStep(6, 'integrity-failed', () => overlayCapabilities(job));
  await inStep(8, 'worker-failed', () => {
    const merged = mergeEnv(job);
    context.env = merged.env;
    for (const name of merged.denied)
      deny(context, {
        layer: 'gate',
        what: `environment variable ${name} was kept out`,
        rule: 'env-firewall',
      });
  });
  for (const short of context.redactor.tooShort)
    writer.write({ kind: 'warning', source: 'redactor', message: short.message });
  await inStep(9, 'worker-failed', async () => {
    await runSetup(context, setup);
    await concludePreparation(context, setup);
    placeAnswer(job);
  });
}

async function settleSentinel(context: AttemptContext, failure: StepFailure | null): Promise<AttemptEnding> {
  const isAgentFailure =
    failure !== null && failure.failure.reason === 'provider-failed' && failure.failure.cause !== 'gate';
  if (failure !== null && !isAgentFailure) return { kind: 'failed', failure: failure.failure };
  const question = await inStep(13, 'worker-failed', () => readSentinel(context.job));
  if (question !== null) {
    context.gathered.needsInput = question;
    return { kind: 'needs_input' };
  }
  return failure === null ? { kind: 'finished' } : { kind: 'failed', failure: failure.failure };
}
