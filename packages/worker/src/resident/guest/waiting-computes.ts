/** The computes of a sense that are not under way. Its thread has the first of them already, and begins it by itself. */
import type { GuestOrder } from '@caisson/protocol';
import { takeTicket } from './tickets.ts';
import type { UserThread } from './user-thread.ts';

export type ComputeOrder = Extract<GuestOrder, { readonly kind: 'compute' }>;

/** A compute that a thread has. */
export interface Handed {
  readonly order: ComputeOrder;
  readonly thread: UserThread;
  readonly number: number;
}

export interface WaitingComputes {
  add(order: ComputeOrder): void;
  /** Why it is not to begin, or null. */
  remove(id: string): string | null;
  abandon(id: string, why: string): void;
  /** Gives the first one to the thread of the present compute, unless that one is being given up. */
  handNext(present: { readonly handed: Handed; isGivenUp(): boolean } | null): void;
  /** What `handNext` gave, if it is this one and its thread has begun it or will. */
  takeHanded(id: string): Handed | null;
  /** Takes back what `handNext` gave, if it has not begun. */
  withdraw(): void;
}

export function hand(order: ComputeOrder, thread: UserThread): Handed {
  const { computeId, covers, cause, origin } = order;
  const number = thread.tickets.issue();
  thread.post({ kind: 'compute', number, computeId, covers, cause, origin });
  return { order, thread, number };
}

export function createWaiting(): WaitingComputes {
  const waiting = new Map<string, { readonly order: ComputeOrder; why: string | null }>();
  let next: Handed | null = null;
  const withdraw = (): void => {
    if (next !== null && takeTicket(next.thread.tickets.memory, next.number)) next = null;
  };
  return {
    add: (order) => void waiting.set(order.id, { order, why: null }),
    remove(id) {
      const why = waiting.get(id)?.why ?? null;
      waiting.delete(id);
      return why;
    },
    abandon(id, why) {
      if (next?.order.id === id) withdraw();
      const found = waiting.get(id);
      if (found !== undefined) found.why = why;
    },
    handNext(present) {
      const [first] = waiting.values();
      if (present === null || present.isGivenUp() || next !== null || first === undefined) return;
      if (first.why === null) next = hand(first.order, present.handed.thread);
    },
    takeHanded(id) {
      const handed = next?.order.id === id ? next : null;
      if (handed === null) return null;
      next = null;
      const { thread, number } = handed;
      return thread.failure() === null || thread.tickets.isTaken(number) ? handed : null;
    },
    withdraw,
  };
}
