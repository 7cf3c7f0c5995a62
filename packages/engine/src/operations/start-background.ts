/** `--detach`: another process becomes the host of the run; this one only waits until the run is accepted. */
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import {
  isSameProcess,
  readProcess,
  removeFileSync,
  startDetached,
  unlessErrno,
  writeFileAtomic,
} from '@caisson/ground';
import { BusTopic, CaissonError, definedOnly, ErrorInfo, toErrorInfo } from '@caisson/protocol';
import * as z from 'zod/mini';
import { parseRequest, type DispatchRequest } from '../admission/index.ts';
import type { Engine } from '../engine.ts';
import { NO_ATTEMPT } from '../ledger/index.ts';
import { createRunId, TaskRefusedError } from '../platform/index.ts';
import { NoStateError } from '../trust/index.ts';
import { findRunOfKey } from './find-run-of-key.ts';

const POLL_MS = 25;
/** No command waits for a background host: it finishes all tries of its callbacks. */
const BACKGROUND_CALLBACKS_MS = 90_000;
const BACKGROUND_BLOBS_MS = 90_000;
const MAX_WARNING_CHARACTERS = 4000;
/** Where a background host gets the values of the task's variables, which are in no file and in no environment. */
const VALUES_FD = 0;

/** The background host did not accept the task; carries its message. */
export class BackgroundRefusedError extends CaissonError {
  readonly code: string;

  constructor(info: ErrorInfo) {
    super(info.message, definedOnly({ remedy: info.remedy }));
    this.code = info.code;
  }
}

/** What a background host leaves instead of a run. */
const Refused = z.extend(ErrorInfo, {
  refusal: z.optional(
    z.object({
      check: z.string(),
      detail: z.string(),
      remedy: z.optional(z.string()),
      kind: z.enum(['usage', 'policy', 'budget', 'unavailable', 'full']),
      offersLogin: z.optional(z.object({ runtime: z.string(), path: z.string() })),
    }),
  ),
});
type Refused = z.infer<typeof Refused>;

export interface BackgroundPaths {
  readonly request: string;
  readonly log: string;
  readonly refusal: string;
}

export function backgroundPaths(stateDir: string, runId: string): BackgroundPaths {
  const folder = join(stateDir, 'runtime', 'background');
  return {
    request: join(folder, `${runId}.json`),
    log: join(folder, `${runId}.log`),
    refusal: join(folder, `${runId}.refused.json`),
  };
}

/** Resolves with the run's id once its acceptance is durable; with an idempotency key that may be an earlier run. */
export async function startBackground(
  engine: Engine,
  request: DispatchRequest,
  entry: readonly string[],
): Promise<string> {
  if (!engine.hasFolder) throw new NoStateError(engine.config.stateDir);
  const taken = await findRunOfKey(engine, request);
  if (taken !== null) return taken;
  const runId = createRunId(engine.clock);
  const { stateDir, projectRoot } = engine.config;
  const paths = backgroundPaths(stateDir, runId);
  mkdirSync(join(paths.request, '..'), { recursive: true, mode: 0o700 });
  const { env: values, ...written } = request;
  const stored = { ...written, runId, ...(values === undefined ? {} : { env: namesOf(values) }) };
  const stamped = engine.stamp.wrap(purposeOf(runId), JSON.stringify(stored));
  await writeFileAtomic(paths.request, stamped, { mode: 0o600 });
  const logFd = openSync(paths.log, 'a', 0o600);
  const pid = await startDetached({
    file: process.execPath,
    args: [...entry, 'host', runId, '--state-dir', stateDir],
    cwd: projectRoot,
    env: definedOnly(engine.env),
    logFd,
    ...(values === undefined ? {} : { input: JSON.stringify(values) }),
  })
    .catch((error: unknown) => {
      removeAll(paths);
      throw error;
    })
    .finally(() => closeSync(logFd));
  const startTime = readProcess(pid)?.startTime ?? '0';
  while (engine.ledger.run(runId) === null) {
    const isAlive = isSameProcess(pid, startTime); // read first: its last message may come just before its end
    const refusal = readRefusal(paths) ?? (isAlive ? null : diedAtOnce(paths));
    if (refusal !== null) {
      if (engine.ledger.run(runId) !== null) return runId; // it was accepted, and has ended, meanwhile
      removeAll(paths); // we get the signal, and pass it on
      const other = await findRunOfKey(engine, request); // another process was faster with the same key
      if (other !== null) return other;
      throw toError(refusal);
    }
    await new Promise((resolve) => engine.clock.setTimer(POLL_MS, () => resolve(undefined)));
  }
  return runId;
}

function namesOf(values: NonNullable<DispatchRequest['env']>): Record<string, string> {
  return Object.fromEntries(Object.keys(values).map((name) => [name, '']));
}

function removeAll(paths: BackgroundPaths): void {
  for (const path of Object.values(paths)) removeFileSync(path);
}

function toError({ refusal, ...info }: Refused): CaissonError {
  if (refusal === undefined) return new BackgroundRefusedError(info);
  const { check, detail, kind, remedy, offersLogin } = refusal;
  return new TaskRefusedError({ check, detail, kind, ...definedOnly({ remedy, offersLogin }) });
}

function diedAtOnce(paths: BackgroundPaths): Refused {
  const log = existsSync(paths.log) ? readFileSync(paths.log, 'utf8').slice(-2000) : '';
  return {
    code: 'BACKGROUND_DIED',
    message: `the background host ended at once: ${log}`,
    retryable: true,
  };
}

/** The work of a background host: drives the run of its request to its end, and records a refusal. */
export async function runBackground(engine: Engine, runId: string, request: DispatchRequest): Promise<void> {
  const paths = backgroundPaths(engine.config.stateDir, runId);
  const warnings = keepWarnings(engine, runId);
  try {
    await engine.openPost();
    const handle = await engine.dispatcher.dispatch(request);
    await handle.ended;
    await Promise.race([settleDeliveries(engine), aborted(engine.dispatcher.closing)]);
  } catch (error) {
    const refusal = error instanceof TaskRefusedError ? error.refusal : undefined;
    const left: Refused = { ...toErrorInfo(error), refusal };
    await writeFileAtomic(paths.refusal, JSON.stringify(left), { mode: 0o600 });
  } finally {
    await warnings.flush();
    if (statSync(paths.log, { throwIfNoEntry: false })?.size === 0) removeFileSync(paths.log);
  }
}

/** A host that shuts down leaves undelivered callbacks to the next one. */
async function settleDeliveries({ callbacks, mirror }: Engine): Promise<void> {
  await callbacks.settle(BACKGROUND_CALLBACKS_MS);
  await mirror?.settle(BACKGROUND_BLOBS_MS);
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

/**
 * A background host has no terminal: its warnings become part of its run's record, where `show` and `logs` find them.
 */
function keepWarnings({ bus, ledger, recorder }: Engine, runId: string): { flush(): Promise<void> } {
  const record = recorder.of(runId);
  const early: { source: string; message: string }[] = [];
  const keep = (): void => {
    if (ledger.run(runId) === null) return;
    for (const data of early.splice(0)) record.keep('warning', data, NO_ATTEMPT);
  };
  bus.on(BusTopic.WARNING, ({ runId: ofRun, source, message }) => {
    if (ofRun !== undefined) return;
    early.push({ source, message: message.slice(0, MAX_WARNING_CHARACTERS) });
    keep();
  });
  return {
    async flush() {
      keep();
      await record.flush();
    },
  };
}

/** Only requests that a Caisson with this state folder wrote are dispatched: a request can ask for anything. */
export function takeRequest({ stamp, config }: Engine, runId: string): DispatchRequest {
  const paths = backgroundPaths(config.stateDir, runId);
  const stored = unlessErrno(() => readFileSync(paths.request, 'utf8'), null, 'ENOENT');
  if (stored === null)
    throw new BackgroundRefusedError({
      code: 'USAGE',
      message: `no request waits for a host as ${runId}`,
      retryable: false,
      remedy: 'Start one: caisson run --detach "…".',
    });
  const text = stamp.unwrap(purposeOf(runId), stored);
  rmSync(paths.request);
  if (text !== null) {
    const stored = JSON.parse(text) as { readonly env?: unknown };
    return parseRequest(stored.env === undefined ? stored : { ...stored, env: readValues() });
  }
  throw new BackgroundRefusedError({
    code: 'STATE_REFUSED',
    message: `${paths.request} was not written by this Caisson, and nothing was started`,
    retryable: false,
  });
}

function readValues(): unknown {
  try {
    return JSON.parse(readFileSync(VALUES_FD, 'utf8'));
  } catch {
    throw new BackgroundRefusedError({
      code: 'BACKGROUND_DIED',
      message: 'the command that started this host ended before it had passed the variables of the task',
      retryable: true,
    });
  }
}

function purposeOf(runId: string): string {
  return `background:${runId}`;
}

function readRefusal(paths: BackgroundPaths): Refused | null {
  return unlessErrno(() => Refused.parse(JSON.parse(readFileSync(paths.refusal, 'utf8'))), null, 'ENOENT');
}
