/**
 * The two connections of one process write in turns. SQLite would keep them apart, too, but it makes the second one sleep
 * and look again, for longer each time: the event loop would stand still while the thread commits again and again. Here the
 * main thread waits for the commit under way and goes first then.
 *
 * W1  This only saves waiting. SQLite's own lock decides: who waited in vain here goes on to it.
 * W2  Each side says that it wants to write before it looks at the other, so at least one of them sees the other.
 */
export type InTurn = <T>(work: () => T, limitMs?: number) => T;

/** Shared by both threads. */
export type TurnMemory = Int32Array<SharedArrayBuffer>;

const THREAD_WRITES = 0;
const MAIN_WANTS = 1;
const LONGEST_WAIT_MS = 1000;

export function createTurnMemory(): TurnMemory {
  return new Int32Array(new SharedArrayBuffer(8));
}

export function createMainTurns(memory: TurnMemory): InTurn {
  return (work, limitMs = LONGEST_WAIT_MS) => {
    Atomics.store(memory, MAIN_WANTS, 1);
    try {
      Atomics.wait(memory, THREAD_WRITES, 1, Math.min(limitMs, LONGEST_WAIT_MS)); // returns at once unless the thread writes
      return work();
    } finally {
      Atomics.store(memory, MAIN_WANTS, 0);
      Atomics.notify(memory, MAIN_WANTS);
    }
  };
}

export function createThreadTurns(memory: TurnMemory): InTurn {
  const end = (): void => endThreadTurn(memory);
  return (work) => {
    for (Atomics.store(memory, THREAD_WRITES, 1); Atomics.load(memory, MAIN_WANTS) === 1;) {
      end();
      if (Atomics.wait(memory, MAIN_WANTS, 1, LONGEST_WAIT_MS) === 'timed-out') break; // W1
      Atomics.store(memory, THREAD_WRITES, 1);
    }
    try {
      return work();
    } finally {
      end();
    }
  };
}

/** Also for a thread that ended in the middle of a write. */
export function endThreadTurn(memory: TurnMemory): void {
  Atomics.store(memory, THREAD_WRITES, 0);
  Atomics.notify(memory, THREAD_WRITES);
}
