/** Who asked for a change, recorded before it is made (invariant 19, F4): one event for every face. */
import { userInfo } from 'node:os';
import { BusTopic, definedOnly, type DispatchRequest } from '@caisson/protocol';
import type { OperationName } from '../api/index.ts';
import type { Engine } from '../engine.ts';
import { isOutage, isThreadStream, LedgerFullError, NO_ATTEMPT } from '../ledger/index.ts';
import { withinMs } from '../platform/index.ts';
import { findOpenApproval } from './decide-approval.ts';
import { findCancellable } from './cancel-run.ts';
import { requireEnded } from './run-patch.ts';
import { resolveRunId } from './resolve-run-id.ts';

/** What a person or a program decides about work that is there. */
export const DECISIONS = ['apply', 'answer', 'cancel', 'decide'] as const satisfies readonly OperationName[];

export interface Actor {
  /** The name of a token, or the account of this machine. */
  readonly by: string;
  readonly token?: string;
  /** The program, by the name that it gave itself. */
  readonly client?: string;
}

/** `stop` and `reload` are of the daemon itself. */
export type Act = OperationName | 'stop' | 'reload';
type Input = Readonly<Record<string, unknown>>;

export const MAX_CLIENT = 100;
/** Who waits longer takes the daemon for silent. */
const MAX_RECORD_MS = 1000;
const DECIDED = ['allow', 'deny'] as const;
/** Work is stopped on a full disk, too: its own ending says by whom. */
const STOPPING: ReadonlySet<Act> = new Set(['cancel', 'cancelThread', 'stop', 'reload']);
const NAMED = ['run', 'approval', 'question', 'thread', 'resident', 'sense', 'workflow', 'session'];

/** Looked up once: a directory of a network may be slow. */
let account: string | null = null;

/** Who opens the socket or the state folder: only this account can. */
export function localActor(client?: string): Actor {
  account ??= findAccount();
  return { by: account, ...definedOnly({ client: client?.slice(0, MAX_CLIENT) }) };
}

function findAccount(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.geteuid?.()}`; // it is in no list of accounts
  }
}

export async function recordAct(engine: Engine, actor: Actor, operation: Act, input: Input): Promise<void> {
  try {
    await append(engine, actor, operation, input);
  } catch (error) {
    if (!STOPPING.has(operation) || !(error instanceof LedgerFullError)) throw error;
    warnUnrecorded(engine, operation, error);
  }
}

/** For what is done all the same. `what` names the order, or the run that was started. */
export function warnUnrecorded({ bus }: Pick<Engine, 'bus'>, what: string, error: Error): void {
  const message = `who asked for ${what} could not be recorded: ${error.message}`;
  bus.emit(BusTopic.WARNING, { source: 'record', message });
}

/**
 * An order to the daemon itself is obeyed although the ledger can record nothing now, or not at once: nobody waits for a locked
 * ledger to end it. Every other failure refuses an order over TCP. The socket is this account's, which can also end the process
 * by a signal: with `isAlways` nothing refuses it.
 */
export async function recordControl(
  engine: Engine,
  actor: Actor,
  act: 'stop' | 'reload',
  { isAlways = false } = {},
): Promise<void> {
  const recorded = recordAct(engine, actor, act, {}).catch((error: Error) => {
    if (!isAlways && !isOutage(error)) throw error;
    warnUnrecorded(engine, act, error);
  });
  await withinMs(engine.clock, MAX_RECORD_MS, recorded);
}

/** On no run yet. A repeat with its key starts none. */
export async function recordOrder(
  engine: Engine,
  actor: Actor,
  { idempotencyKey }: Pick<DispatchRequest, 'idempotencyKey'>,
): Promise<void> {
  const isRepeat = idempotencyKey !== undefined && engine.ledger.runs({ idempotencyKey }).length > 0;
  if (!isRepeat) await recordAct(engine, actor, 'dispatch', {});
}

async function append(engine: Engine, actor: Actor, operation: Act, input: Input): Promise<void> {
  const streamId = findStream(engine, operation, input);
  if (streamId !== null && findIdle(engine, operation, streamId)) return;
  const target = NAMED.map((member) => input[member]).find((value) => typeof value === 'string');
  const decision = DECIDED.find((one) => one === input['decision']);
  const data = { ...actor, operation, ...definedOnly({ target, decision }) };
  await engine.recorder.of(streamId).append('visitor.acted', data, NO_ATTEMPT);
}

/** Whether there is nothing to decide any more: no event says that it was done. Throws for work that is not there yet. */
function findIdle(engine: Engine, operation: Act, streamId: string): boolean {
  if (operation === 'apply') requireEnded(engine, streamId);
  return operation === 'cancel' && findCancellable(engine, streamId) === null;
}

/** The run, or the thread, that it is about, however it was named. */
function findStream(engine: Engine, operation: Act, { run, approval, question }: Input): string | null {
  const { ledger } = engine;
  if (typeof run === 'string') return resolveRunId(ledger, run);
  if (operation === 'decide' && typeof approval === 'string') return findOpenApproval(engine, approval).runId;
  if (typeof question !== 'string') return null;
  const found = ledger.question(question);
  if (found !== null) return found.runId;
  return isThreadStream(question) ? question : resolveRunId(ledger, question);
}
