/** The orders that wait for their one answer. */
import type { GuestLine, ResidentOrder } from '@caisson/protocol';

export interface OpenOrders {
  add(order: ResidentOrder): void;
  /** Takes the answer into account; what is wrong with it, or null. */
  settle(line: GuestLine): string | null;
  /** Whether a turn of this thread is open: what is logged later, or for another one, is not of that thread. */
  isInTurn(threadId: string): boolean;
  /** Whether nothing is being done: a turn that waits for a step is continued by another worker as well as by this one. */
  isIdle(): boolean;
}

/** `names`: the modules that it serves, which alone log. */
export function createOpenOrders(names: readonly string[]): OpenOrders {
  const computes = new Set<string>();
  /** The steps that each turn waits for. */
  const turns = new Map<string, Set<number>>();
  /** The thread of each open turn. */
  const threads = new Map<string, string>();
  return {
    add(order) {
      if (order.kind === 'compute') computes.add(order.id);
      else if (order.kind === 'turn') {
        turns.set(order.id, new Set());
        threads.set(order.id, order.threadId);
      } else if (order.kind === 'step-done') turns.get(order.id)?.delete(order.ordinal);
    },
    settle(line) {
      switch (line.kind) {
        case 'computed':
          return computes.delete(line.id) ? null : `it answered a compute that nobody asked for`;
        case 'turned':
          threads.delete(line.id);
          return turns.delete(line.id) ? null : `it answered a turn that nobody asked for`;
        case 'step': {
          const steps = turns.get(line.id);
          steps?.add(line.ordinal);
          return steps === undefined ? 'it asked for a step of no turn' : null;
        }
        case 'logged':
          return names.includes(line.name) ? null : 'it logged with a name that is not its own';
        default:
          return null;
      }
    },
    isInTurn: (threadId) => [...threads.values()].includes(threadId),
    isIdle: () => computes.size === 0 && [...turns.values()].every((steps) => steps.size > 0),
  };
}
