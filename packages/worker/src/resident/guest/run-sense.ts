/** The computes of one sense, in its thread. */
import { join } from 'node:path';
import {
  MAX_PAYLOAD_BYTES,
  MAX_SIGNALS,
  type EmittedSignal,
  type GuestFailure,
  type Sense,
  type SenseContext,
  type Signals,
} from '@caisson/protocol';
import { checkJson, InvalidUse } from './checked-json.ts';
import { describeThrown } from './describe-thrown.ts';
import { createDoneComputes, type DoneComputes } from './done-computes.ts';
import { GroupDatabase } from './group-database.ts';
import { watchLateErrors } from './late-errors.ts';
import { createOutbox, type Outbox } from './outbox.ts';
import type { Runner, Say } from './run-thread.ts';
import { createSenseState } from './sense-state.ts';
import type { ThreadOrder, ThreadStart } from './thread-messages.ts';
import { takeTicket } from './tickets.ts';
import { createUserLog } from './user-log.ts';

const SIGNAL_NAME = /^[a-z0-9][a-z0-9._-]{0,127}$/;
/** All signals of one compute are one line. */
const MAX_EMITTED_BYTES = 512 * 1024;
/** What was delivered and could not be removed is tried again after so long. */
const REMOVE_MS = 250;
const { setTimeout: after, setImmediate: inNextTurn } = globalThis; // as it is before the user's code could change it

type ComputeOrder = Extract<ThreadOrder, { readonly kind: 'compute' }>;
type AbortOrder = Extract<ThreadOrder, { readonly kind: 'abort' }>;

/** Reports first what an earlier thread of this sense left in the outbox. */
export function createSenseRunner(
  sense: object,
  { name, projectRoot, stateFolder, tickets }: ThreadStart,
  say: Say,
): Runner {
  const database = new GroupDatabase(join(stateFolder, 'group.db'));
  const kept = { outbox: createOutbox(database, name), done: createDoneComputes(database, name) };
  const { outbox, done } = kept;
  const log = createUserLog(say);
  const parts = { state: createSenseState(database), projectRoot, log };
  const runCompute = watchLateErrors((error) =>
    log('an error of a compute that was over:', describeThrown(error)),
  );
  for (const emission of outbox.list()) say({ kind: 'undelivered', ...emission });
  const remove = (computeIds: readonly string[]): void => {
    if (!outbox.remove(computeIds)) after(remove, REMOVE_MS, []);
  };
  let abort: (order: AbortOrder) => void = () => undefined;
  const run = async (order: ComputeOrder): Promise<void> => {
    const { number } = order;
    if (done.has(order.computeId))
      // its answer was lost, or another compute covered it
      return say({ kind: 'computed', number, signals: outbox.find(order.computeId)?.signals ?? [] });
    const limit = createLimit();
    abort = (asked) => {
      if (asked.number === number) limit.abort(asked.why);
    };
    const emitted = createEmitted();
    const { cause } = order;
    const context = { ...parts, signal: limit.signal, cause, emit: emitted.emit };
    database.beginCompute();
    try {
      await runCompute(() => (sense as Sense).compute(context satisfies SenseContext<Signals>));
      limit.check();
      say({ kind: 'computed', number, signals: commit(database, kept, order, emitted.close()) });
    } catch (error) {
      emitted.close();
      database.undoCompute();
      say({ kind: 'computed', number, signals: [], failure: describeFailure(error) });
    }
  };
  const orders: ComputeOrder[] = [];
  let isBusy = false;
  const runAll = async (): Promise<void> => {
    isBusy = true;
    for (let order = orders.shift(); order !== undefined; order = orders.shift()) {
      if (takeTicket(tickets, order.number)) await run(order);
      if (orders.length > 0) await new Promise((resolve) => inNextTurn(resolve)); // for what it has left behind
    }
    isBusy = false;
  };
  return (order) => {
    if (order.kind === 'compute') {
      orders.push(order);
      if (!isBusy) void runAll();
    } else if (order.kind === 'delivered') remove(order.computeIds);
    else if (order.kind === 'abort') abort(order);
  };
}

/** State and signals of the compute, or neither (RE7). One without any has nothing that could be doubled. */
function commit(
  database: GroupDatabase,
  { outbox, done }: { readonly outbox: Outbox; readonly done: DoneComputes },
  { computeId, origin, covers = [] }: ComputeOrder,
  signals: EmittedSignal[],
): readonly EmittedSignal[] {
  if (signals.length > 0) outbox.add({ computeId, origin, signals });
  if (database.hasWritten) done.add([...covers, computeId]);
  database.commitCompute();
  return signals;
}

function createLimit(): { readonly signal: AbortSignal; abort(why: string): void; check(): void } {
  const controller = new AbortController();
  let problem: Error | null = null;
  return {
    signal: controller.signal,
    abort: (why) => controller.abort((problem = new Error(why))),
    check() {
      if (problem !== null) throw problem;
    },
  };
}

function describeFailure(error: unknown): GuestFailure {
  return { kind: error instanceof InvalidUse ? 'invalid' : 'threw', detail: describeThrown(error) };
}

function createEmitted(): {
  emit(name: string, payload?: unknown): void;
  close(): EmittedSignal[];
} {
  const signals: EmittedSignal[] = [];
  let bytes = 0;
  let isClosed = false;
  return {
    emit(name, payload) {
      if (isClosed) throw new InvalidUse('emit was called after its compute was over');
      if (typeof name !== 'string' || !SIGNAL_NAME.test(name))
        throw new InvalidUse(`"${String(name)}" is no name of a signal`);
      if (signals.length >= MAX_SIGNALS)
        throw new InvalidUse(`a compute emits at most ${MAX_SIGNALS} signals`);
      const checked = checkJson(payload, `the payload of "${name}"`, MAX_PAYLOAD_BYTES);
      bytes += checked.bytes;
      if (bytes > MAX_EMITTED_BYTES)
        throw new InvalidUse(`the signals of a compute have at most ${MAX_EMITTED_BYTES} bytes together`);
      signals.push({ name, payload: checked.value });
    },
    close() {
      isClosed = true;
      return signals;
    },
  };
}
