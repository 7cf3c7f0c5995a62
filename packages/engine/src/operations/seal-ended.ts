/**
 * Seals what ended without a seal: a key could not be used, a disk failed, the ledger was locked, a host was killed
 * right after the ending. Whoever opens the project next makes it up, and so does a host that goes on living.
 * M1  A run whose host lives is left to that host, which tries again itself.
 * M2  Sealing never keeps anybody from what they came for: it takes little time, and a failure is only reported.
 * M3  Nobody is asked for a signature whom no command is about: a key in an ssh-agent signs only with what starts work.
 */
import { BusTopic, isTerminal } from '@caisson/protocol';
import { isTrusted, requireTrust } from '../composition/trusted-config.ts';
import type { Engine } from '../engine.ts';
import type { RunRow, StoredEvent } from '../ledger/index.ts';
import { isForgotten } from './run-forgotten.ts';
import { RunNotEndedError } from './retry-run.ts';

/** How long an open may take longer for it. */
const PATIENCE_MS = 2_000;
/** After so many failures the rest is left to a later time: they have the same reason. */
const MAX_FAILURES = 3;
const REPEAT_MS = 2_000;
/** An agent may ask its user each time. */
const REPEAT_WITH_AGENT_MS = 600_000;

/** The runs that were sealed now, oldest first. Without a run, every one that ended unsealed is. */
export async function sealEnded(engine: Engine, runId?: string): Promise<readonly string[]> {
  const { ledger, sealer } = engine;
  const row = runId === undefined ? null : ledger.run(runId);
  if (row !== null && row.ending === undefined)
    throw new RunNotEndedError(`${runId} has not ended`, { remedy: 'A run is sealed after its ending.' });
  const sealed: string[] = [];
  for (const candidate of row === null ? listUnsealed(engine) : [row]) {
    if (candidate.unsealed === undefined || isForgotten(engine, candidate.runId)) continue;
    await sealer.seal(candidate.runId, { isLate: true, acceptsUnmarked: row !== null });
    sealed.push(candidate.runId);
  }
  return sealed;
}

/** Seals one run that somebody asks for. Returns what keeps it unsealed; null when it is sealed, or has not ended. */
export async function sealIfOwed(engine: Engine, runId: string): Promise<Error | null> {
  try {
    if (!isUnsealed(engine.ledger.read({ runId }))) return null;
    await requireTrust(engine.config, ['keys', 'evidence']);
    await engine.sealer.seal(runId, { isLate: true });
    return null;
  } catch (error) {
    return error as Error;
  }
}

/** As the events say: the row could have been changed. */
function isUnsealed(events: readonly StoredEvent[]): boolean {
  const has = (...types: string[]): boolean => events.some(({ type }) => types.includes(type));
  return events.some(({ type }) => isTerminal(type)) && !has('evidence.sealed', 'run.forgotten');
}

/** Ended runs without a seal whose host is not at work on it, oldest first. */
export async function listOwedSeals(engine: Engine): Promise<readonly string[]> {
  const owed: string[] = [];
  for (const row of listUnsealed(engine)) if (await isOwed(engine, row)) owed.push(row.runId);
  return owed;
}

/** What came of it: runs that were sealed, and what to say of those that could not be. */
export interface MadeUp {
  readonly sealed: readonly string[];
  readonly failures: readonly string[];
}

/** Seals what is owed (M1, M2). */
export async function makeUpSeals(engine: Engine, { isForWork = false } = {}): Promise<MadeUp> {
  const { config, clock, sealer } = engine;
  const sealed: string[] = [];
  const failures: string[] = [];
  const needsAgent = config.keys.agentSocket !== null; // M3
  if ((needsAgent && !isForWork) || !isTrusted(config, ['keys', 'evidence'])) return { sealed, failures };
  const startedMs = clock.monotonicMs();
  for (const runId of await listOwedSeals(engine)) {
    const leftMs = PATIENCE_MS - (clock.monotonicMs() - startedMs);
    if (leftMs <= 0 || failures.length >= MAX_FAILURES) break;
    try {
      await sealer.seal(runId, { waitMs: leftMs, isLate: true });
      sealed.push(runId);
    } catch (error) {
      failures.push((error as Error).message);
    }
  }
  return { sealed, failures };
}

/** Does that now and again for as long as the host lives. Returns how to stop, which waits for what is under way. */
export function keepSealing(engine: Engine): () => Promise<void> {
  let underWay: Promise<void> | null = null;
  let told: readonly string[] = [];
  const sealOnce = async (): Promise<void> => {
    const failures = await makeUpSeals(engine, { isForWork: true })
      .then((madeUp) => madeUp.failures)
      .catch((error: unknown) => [(error as Error).message]);
    for (const message of failures.filter((each) => !told.includes(each)))
      engine.bus.emit(BusTopic.WARNING, { source: 'evidence', message });
    told = failures;
  };
  const repeat = (): void => {
    underWay ??= sealOnce().finally(() => (underWay = null));
  };
  const hasAgent = engine.config.keys.agentSocket !== null;
  const timer = setInterval(repeat, hasAgent ? REPEAT_WITH_AGENT_MS : REPEAT_MS);
  timer.unref();
  repeat();
  return async () => {
    clearInterval(timer);
    await underWay;
  };
}

/** One whose contents were taken away cannot be sealed any more. */
function listUnsealed(engine: Engine): RunRow[] {
  return engine.ledger.runs({ unsealed: true }).filter(({ runId }) => !isForgotten(engine, runId));
}

/** M1 */
async function isOwed({ hostId, hosts, dispatcher }: Engine, { runId, host }: RunRow): Promise<boolean> {
  if (host === hostId) return dispatcher.active(runId) === null;
  return !(await hosts.isAlive(host));
}
