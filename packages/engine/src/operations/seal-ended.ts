/**
 * Seals what ended without a seal: a key could not be used, a disk failed, the ledger was locked, a host was killed
 * right after the ending. The next process that opens the project makes it, and so does a living host.
 * M1  A run whose host lives is left to that host, which tries again itself.
 * M2  Sealing never delays the command: it takes little time, and a failure is only reported.
 * M3  A signature is requested only by a command about runs: a key in an ssh-agent signs only with what starts work.
 * M4  A problem of one run (a blob is missing, its seal was removed) does not block the others. A problem of all (a
 *     key, a lock) is tried only a few times, and the rest is left to a later time.
 * M5  A run that is sealed only when a person names it is reported once, and by `doctor --repair`.
 */
import { LockTimeoutError } from '@caisson/ground';
import { BusTopic, isTerminal, knownTypeOf } from '@caisson/protocol';
import { isTrusted, requireTrust } from '../composition/trusted-config.ts';
import { ConfigError } from '../config/index.ts';
import type { Engine } from '../engine.ts';
import {
  KeyChangedError,
  KeyChoiceError,
  KeyFolderError,
  KeyInvalidError,
  KeyUnknownError,
  SignerUnusableError,
  UnmarkedEndingError,
  UnsealedError,
  UnsealedRunsError,
} from '../evidence/index.ts';
import { isOutage, type RunRow, type StoredEvent } from '../ledger/index.ts';
import { TrustRequiredError } from '../trust/index.ts';
import { isForgotten } from './run-forgotten.ts';
import { RunNotEndedError } from './continue-run.ts';

/** How much longer an open may take for it. */
const PATIENCE_MS = 2_000;
/** M4 */
const MAX_FAILURES = 3;
const COMMON = [
  ConfigError,
  TrustRequiredError,
  KeyInvalidError,
  KeyFolderError,
  KeyUnknownError,
  KeyChoiceError,
  KeyChangedError,
  SignerUnusableError,
  LockTimeoutError,
] as const;
/** Runs that were reported by M5. */
const REPORTED = 'unmarked-told';
const REPEAT_MS = 2_000;
/** An agent may ask its user each time. */
const REPEAT_WITH_AGENT_MS = 600_000;

/**
 * The runs that were sealed now, oldest first. Without a run, all that ended unsealed are sealed. Throws when any could
 * not be, after the others were.
 */
export async function sealEnded(engine: Engine, runId?: string): Promise<readonly string[]> {
  const { ledger, sealer } = engine;
  const row = runId === undefined ? null : ledger.run(runId);
  if (row !== null && row.ending === undefined)
    throw new RunNotEndedError(`${runId} has not ended`, { remedy: 'A run is sealed after its ending.' });
  const owed = (row === null ? listUnsealed(engine) : [row]).filter(
    (each) => each.unsealed !== undefined && !isForgotten(engine, each.runId),
  );
  const runIds = owed.map((each) => each.runId);
  const { sealed, errors } = await sealEach(runIds, (each) =>
    sealer.seal(each, { isLate: true, acceptsUnmarked: row !== null }),
  );
  if (errors.length > 1) throw new UnsealedRunsError(sealed, errors);
  if (errors[0] !== undefined) throw errors[0];
  return sealed;
}

/** Seals one requested run. Returns why it stays unsealed; null when it is sealed, or has not ended. */
export async function sealIfMissing(engine: Engine, runId: string): Promise<Error | null> {
  try {
    if (!isUnsealed(await engine.ledger.readRun(runId))) return null;
    await requireTrust(engine.config, ['keys', 'evidence']);
    await engine.sealer.seal(runId, { isLate: true });
    return null;
  } catch (error) {
    return error as Error;
  }
}

/** From the events: the row could have been changed. */
function isUnsealed(events: readonly StoredEvent[]): boolean {
  const types = new Set(events.map(knownTypeOf));
  return [...types].some(isTerminal) && !types.has('evidence.sealed') && !types.has('run.forgotten');
}

/** Ended runs without a seal whose host does not work on it, oldest first. */
export async function listMissingSeals(engine: Engine): Promise<readonly string[]> {
  const owed: string[] = [];
  for (const row of listUnsealed(engine)) if (await needsSeal(engine, row)) owed.push(row.runId);
  return owed;
}

/** The outcome: runs that were sealed, and messages about those that could not be. */
export interface LateSeals {
  readonly sealed: readonly string[];
  readonly failures: readonly string[];
}

/** Seals what is missing (M1, M2). With `isThorough` the runs of M5 are reported again. */
export async function makeLateSeals(
  engine: Engine,
  { isForWork = false, isThorough = false } = {},
): Promise<LateSeals> {
  const { config, clock, sealer, ledger } = engine;
  const needsAgent = config.keys.agentSocket !== null; // M3
  if ((needsAgent && !isForWork) || !isTrusted(config, ['keys', 'evidence']))
    return { sealed: [], failures: [] };
  const startedMs = clock.monotonicMs();
  const isReported = (runId: string): boolean => !isThorough && ledger.kv.get(REPORTED, runId) !== undefined;
  const owed = (await listMissingSeals(engine)).filter((runId) => !isReported(runId));
  const { sealed, errors } = await sealEach(owed, async (runId) => {
    const leftMs = PATIENCE_MS - (clock.monotonicMs() - startedMs);
    if (leftMs <= 0) return 'later';
    await sealer.seal(runId, { waitMs: leftMs, isLate: true }).catch(async (error: unknown) => {
      if (isUnmarked(error)) await ledger.whenFree(() => ledger.kv.set(REPORTED, runId, true));
      throw error;
    });
    return 'sealed';
  });
  return { sealed, failures: errors.map((error) => error.message) };
}

function isUnmarked(error: unknown): boolean {
  return (error instanceof UnsealedError ? error.cause : error) instanceof UnmarkedEndingError;
}

/** M4. `seal` returns `later` when there is no time left. */
async function sealEach(
  runIds: readonly string[],
  seal: (runId: string) => Promise<'sealed' | 'later' | void>,
): Promise<{ readonly sealed: readonly string[]; readonly errors: readonly Error[] }> {
  const sealed: string[] = [];
  const errors: Error[] = [];
  let common = { reason: '', times: 0 };
  for (const runId of runIds) {
    if (common.times >= MAX_FAILURES) break;
    try {
      if ((await seal(runId)) === 'later') break;
      sealed.push(runId);
      common = { reason: '', times: 0 };
    } catch (error) {
      errors.push(error as Error);
      const reason = findCommonReason(error);
      if (reason !== null) common = { reason, times: reason === common.reason ? common.times + 1 : 1 };
    }
  }
  return { sealed, errors };
}

/** Why no run can be sealed, such as a key or a lock; null for a problem of one run. */
function findCommonReason(error: unknown): string | null {
  const cause = error instanceof UnsealedError ? error.cause : error;
  const isCommon = isOutage(cause) || COMMON.some((kind) => cause instanceof kind);
  return isCommon ? (cause as Error).message : null;
}

/** Calls `run` again and again, until the returned function is called. */
export type Repeat = (run: () => void, everyMs: number) => () => void;

const repeatByTimer: Repeat = (run, everyMs) => {
  const timer = setInterval(run, everyMs).unref(); // it keeps no process alive
  return () => clearInterval(timer);
};

/** Repeats that for as long as the host lives. Returns a function that stops it and waits for what is under way. */
export function keepSealing(engine: Engine, repeat = repeatByTimer): () => Promise<void> {
  let underWay: Promise<void> | null = null;
  let reported: readonly string[] = [];
  const sealOnce = async (): Promise<void> => {
    const failures = await makeLateSeals(engine, { isForWork: true })
      .then((madeUp) => madeUp.failures)
      .catch((error: unknown) => [(error as Error).message]);
    for (const message of failures.filter((each) => !reported.includes(each)))
      engine.bus.emit(BusTopic.WARNING, { source: 'evidence', message });
    reported = failures;
  };
  const seal = (): void => {
    underWay ??= sealOnce().finally(() => (underWay = null));
  };
  const hasAgent = engine.config.keys.agentSocket !== null;
  const stop = repeat(seal, hasAgent ? REPEAT_WITH_AGENT_MS : REPEAT_MS);
  seal();
  return async () => {
    stop();
    await underWay;
  };
}

/** A run without its contents cannot be sealed any more. */
function listUnsealed(engine: Engine): RunRow[] {
  return engine.ledger.runs({ unsealed: true }).filter(({ runId }) => !isForgotten(engine, runId));
}

/** M1 */
async function needsSeal({ hostId, hosts, dispatcher }: Engine, { runId, host }: RunRow): Promise<boolean> {
  if (host === hostId) return dispatcher.active(runId) === null;
  return !(await hosts.isAlive(host));
}
