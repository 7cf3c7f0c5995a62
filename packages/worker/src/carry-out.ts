/**
 * One attempt, from job to result: the fourteen steps.
 *
 *  1 parse job · 2 load runtime adapter · 3 re-hash inputs · 4 wire the emitter · 5 ready, wait for go · 6 overlay · 7
 *  take secrets · 8 merge env · 9 setup scripts · 10 open channel · 11 pipeline · 12 close channel · 13 read the
 *  sentinel · 14 write the result
 *
 * W1  Nothing of the agent runs before `go`.
 * W2  Every ending except a lost host writes exactly one result.
 * W3  When the host is gone the sandbox is killed at once, unless the job has the worker wait for the next host: then it
 *     goes on, for a limited time (adoption.ts). Before `go` it never waits.
 * W4  The network is opened while the worker waits for `go`, and is open from before the step behind it to the end of the last
 *     process that may use it. What it saw is reported before the ending.
 * W5  The exit code is one of a proven end only if the worker has seen the end of its last sandbox. After an unhandled
 *     error it has not: what was under way then goes on until the process ends.
 */
import { adoptSystemView, createRedactor, prepareLaunch } from '@caisson/ground';
import { STEPS, WORKER_EXIT, type Ending, type Handover, type Job, type StepName } from '@caisson/protocol';
import {
  createAttemptContext,
  deny,
  openAdoption,
  type AttemptContext,
  type Control,
  type WorkerEnvironment,
  startHeartbeat,
  watchHost,
  describeThrown,
  inStep,
  lookAtMailbox,
  StepFailure,
  endingOfOrder,
  StoppedError,
  createLineWriter,
  selfStartTime,
} from './attempt/index.ts';
import { runPayload } from './payload.ts';
import { writeResult } from './pipeline/index.ts';
import {
  loadDriver,
  mergeEnv,
  concludePreparation,
  openNetwork,
  overlayCapabilities,
  checkJob,
  placeAnswer,
  findHandoff,
  readSentinel,
  rehashInputs,
  runSetup,
} from './steps/index.ts';

/** Carries out the job and returns the worker's exit code. */
export async function carryOut(job: Job, environment: WorkerEnvironment, control: Control): Promise<number> {
  const startedAt = performance.now();
  const redactor = createRedactor(job.secrets);
  const { runId, attempt, paths } = job;
  const writer = createLineWriter({
    ...{ runId, attempt, eventsFile: paths.events, redactor },
    mayBeAlone: job.adoption !== undefined,
  }); // step 4
  const context = createAttemptContext({ job, writer, control, redactor, path: environment.path });
  const watch = watchHost(environment.parentPid, control.reportHostLost);
  dieWithHost(context, control);
  writer.header(job.grant);
  writer.write({ kind: 'worker.boot', pid: process.pid, startTime: selfStartTime() });
  const adoption =
    job.adoption === undefined
      ? null
      : await openAdoption(job.adoption, {
          ...{ job, control, writer, watch },
          openRequests: () => describeRequests(context),
          elapsedMs: () => performance.now() - startedAt,
        });
  const stopBeating = startHeartbeat(context);
  const uncaught = catchUncaught(context);
  const ending = await Promise.race([findEnding(context, environment), uncaught.ending]);
  try {
    await context.network?.close(); // W4
    await findHandoff(context);
    await conclude(context, ending, Math.round(performance.now() - startedAt));
  } finally {
    uncaught.release();
  }
  stopBeating();
  watch.stop();
  adoption?.close();
  await context.attached?.close();
  await writer.close(); // an adopted worker's lines go over the stream that orders come from
  control.close();
  if (uncaught.hasCaught()) return WORKER_EXIT.broken; // W5
  return ending.kind === 'finished' || ending.kind === 'needs_input' ? WORKER_EXIT.done : WORKER_EXIT.failed;
}

function describeRequests({ openRequests }: AttemptContext): Handover['requests'] {
  const nowMs = performance.now();
  return [...openRequests].map(([id, askedMs]) => ({ id, waitedMs: nowMs - askedMs }));
}

/** W3 */
function dieWithHost(context: AttemptContext, control: Control): void {
  control.stop.addEventListener('abort', () => {
    if ((control.stop.reason as { kind: string }).kind !== 'host-lost') return;
    context.running?.kill();
    void context.network?.close(); // W4: its last lines are in the file when this returns
    process.exit(WORKER_EXIT.hostLost);
  });
}

/** Step 14. Reports a result that cannot be written; the host uses that line if it has no result. */
async function conclude(context: AttemptContext, ending: Ending, durationMs: number): Promise<void> {
  try {
    await inStep('result', 'worker-failed', () => writeResult(context, ending, durationMs));
  } catch (error) {
    if (!(error instanceof StepFailure)) throw error;
    context.writer.write({ kind: 'dispatch.failed', durationMs, failure: error.failure });
  }
}

async function findEnding(context: AttemptContext, environment: WorkerEnvironment): Promise<Ending> {
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

function failedOf(error: unknown, step?: StepName): Ending {
  if (error instanceof StepFailure) return { kind: 'failed', failure: error.failure };
  const detail = describeThrown(error).slice(0, 8000);
  const where = step === undefined ? {} : { step: STEPS[step] };
  return { kind: 'failed', failure: { reason: 'worker-failed', detail, ...where } };
}

interface UncaughtErrors {
  /** Resolves at the first of them. */
  readonly ending: Promise<Ending>;
  hasCaught(): boolean;
  /** The ending is written: one more of them ends the process. */
  release(): void;
}

/**
 * W2 for unhandled errors: the sandbox is ended, and the attempt with it. Once an ending is known it changes nothing but the
 * exit code (W5), which is Node's own for none of them: that would read as the code of an attempt that failed.
 */
function catchUncaught(context: AttemptContext): UncaughtErrors {
  const caught = Promise.withResolvers<Ending>();
  let hasCaught = false;
  const onUncaught = (error: unknown): void => {
    hasCaught = true;
    process.exitCode = WORKER_EXIT.broken;
    const { running, control, job } = context;
    running?.kill();
    const ending = control.stop.aborted
      ? endingOfOrder(control.stop.reason)
      : failedOf(job.runtime.adapter === undefined ? error : unawaited(error, job.runtime.name), 'pipeline');
    void (running?.exited ?? Promise.resolve()).then(() => caught.resolve(ending));
  };
  const onLate = (error: unknown): void => {
    process.emitWarning(`an unhandled error after the ending: ${describeThrown(error)}`);
    setImmediate(() => process.exit(WORKER_EXIT.broken)); // it is printed first
  };
  process.on('uncaughtException', onUncaught);
  return {
    ending: caught.promise,
    hasCaught: () => hasCaught,
    release: () => void process.off('uncaughtException', onUncaught).on('uncaughtException', onLate),
  };
}

/** Our own code has no unhandled errors, so the user's adapter is the likely cause. */
function unawaited(error: unknown, name: string): string {
  return `an unhandled error, most likely in the adapter of the runtime "${name}": ${describeThrown(error)}`;
}

async function prepare(context: AttemptContext, environment: WorkerEnvironment): Promise<void> {
  const { job, writer, control } = context;
  await inStep('parse-job', 'integrity-failed', () => checkJob(job, environment));
  context.driver = await inStep('load-adapter', 'worker-failed', () => loadDriver(job));
  await inStep('check-inputs', 'integrity-failed', () => rehashInputs(job));
  writer.write({ kind: 'worker.ready' });
  const opening = openNetwork(context); // the host records the start meanwhile
  if (job.sandbox.view !== undefined) adoptSystemView(job.sandbox.view);
  if (job.grant.sandbox === 'bwrap') prepareLaunch();
  opening.catch(() => undefined); // thrown below
  try {
    await control.waitForGo(); // W1
  } finally {
    await opening; // W4
  }
  const setup = await inStep('overlay', 'integrity-failed', () => overlayCapabilities(job));
  await inStep('environment', 'worker-failed', () => {
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
  await inStep('setup', 'worker-failed', async () => {
    await runSetup(context, setup);
    await concludePreparation(context, setup);
    placeAnswer(job);
    context.isFromBefore = lookAtMailbox(job.paths.mailbox);
  });
}

async function settleSentinel(context: AttemptContext, failure: StepFailure | null): Promise<Ending> {
  const isAgentFailure =
    failure !== null && failure.failure.reason === 'provider-failed' && failure.failure.cause !== 'gate';
  if (failure !== null && !isAgentFailure) return { kind: 'failed', failure: failure.failure };
  const question = await inStep('sentinel', 'worker-failed', () =>
    context.isFromBefore('needs_input.json') ? null : readSentinel(context.job),
  );
  if (question !== null) {
    context.gathered.needsInput = question;
    return { kind: 'needs_input' };
  }
  return failure === null ? { kind: 'finished' } : { kind: 'failed', failure: failure.failure };
}
