/**
 * What a daemon does by itself. Without one, most of it waits for the next command. Not here: the clean-up, which every
 * host does every few minutes while it lives; deadlines of approvals and waits for a slot, which the host of the run
 * watches; days of the budget, which are counted when they are asked for.
 */
import type { DaemonSocket, SystemdNotifier, TimedTask } from '../daemon/index.ts';
import type { Engine } from '../engine.ts';
import { orAborted } from '../platform/index.ts';
import { limitOwnLog } from './daemon-log.ts';
import { openQuestions } from './open-questions.ts';
import { pushLeft } from './push-left.ts';
import type { Repeat } from './seal-ended.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;

/** Work of another part that is repeated here. */
export interface RepeatedWork {
  readonly repeat: Repeat;
  task(): TimedTask;
}

export function createRepeatedWork(name: string): RepeatedWork {
  let wanted = { run: (): void => undefined, everyMs: MINUTE_MS };
  return {
    repeat(run, everyMs) {
      wanted = { run, everyMs };
      return () => void (wanted = { ...wanted, run: () => undefined });
    },
    task: () => ({ name, everyMs: wanted.everyMs, run: () => wanted.run() }),
  };
}

export interface DueRooms {
  readonly socket: DaemonSocket;
  readonly notifier: SystemdNotifier;
  readonly seals: RepeatedWork;
  readonly schedules: TimedTask;
  /** The ledger is not where it was. */
  endGone(): void;
  leaveIfReplaced(): void;
}

/** Times are multiples of each other where possible, so that one wake-up serves several. */
export function listDueWork(engine: Engine, rooms: DueRooms): readonly TimedTask[] {
  const { ledger, callbacks, mirror, config } = engine;
  const { socket, notifier, seals, schedules, endGone, leaveIfReplaced } = rooms;
  const { aliveEveryMs } = notifier;
  const endIfGone = (): void => {
    if (ledger.isThere()) leaveIfReplaced();
    else endGone();
  };
  return [
    { name: 'ledger', everyMs: 2 * SECOND_MS, run: endIfGone },
    seals.task(),
    schedules,
    { name: 'recovery', everyMs: 4 * SECOND_MS, run: () => recoverDead(engine) },
    { name: 'socket', everyMs: 10 * SECOND_MS, run: () => checkSockets(engine, socket) },
    { name: 'questions', everyMs: 10 * SECOND_MS, run: () => openQuestions(engine).list({ status: 'open' }) },
    { name: 'pushes', everyMs: MINUTE_MS, run: () => pushLeft(engine, engine.dispatcher.closing) },
    { name: 'callbacks', everyMs: MINUTE_MS, run: () => callbacks.resume() },
    { name: 'log', everyMs: MINUTE_MS, run: () => limitOwnLog(config.stateDir) },
    ...(mirror === null
      ? []
      : [{ name: 'bucket', everyMs: MINUTE_MS, run: () => sendMarked(engine, mirror) }]),
    ...(aliveEveryMs === null
      ? []
      : [{ name: 'watchdog', everyMs: aliveEveryMs, isExact: true, run: () => notifier.alive() }]),
  ];
}

/** The daemon's own, and the one of its host: orders and followers of other processes come there. */
async function checkSockets(engine: Engine, socket: DaemonSocket): Promise<void> {
  await engine.checkPost();
  await socket.check();
}

/** A daemon that ends waits only for a moment for its bucket, and does that elsewhere. */
async function sendMarked(
  { dispatcher: { closing } }: Engine,
  mirror: NonNullable<Engine['mirror']>,
): Promise<void> {
  await orAborted(closing, mirror.sendMarked()).catch((error: unknown) => {
    if (!closing.aborted) throw error;
  });
}

/** A run that cannot be settled now is tried again; the first of them is the reason that is reported. */
async function recoverDead(engine: Engine): Promise<void> {
  const { left } = await engine.recover({ isRepeated: true });
  if (left[0] !== undefined) throw left[0];
}
