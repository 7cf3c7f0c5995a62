/** Ends of a key's workers that nobody asked for: after each one the key waits, and too many in a while block it (RE4). */
import type { ResidentEnding } from '@caisson/protocol';
import type { ResidentPlan } from './contract.ts';
import { describeEnding } from './describe-problems.ts';
import type { KeyRooms, KeyState } from './key-state.ts';
import { SlidingWindow } from './sliding-window.ts';
import type { Retries } from './succession.ts';

export class KeyCrashes {
  readonly #rooms: KeyRooms;
  readonly #window: SlidingWindow;

  constructor(rooms: KeyRooms, plan: ResidentPlan) {
    this.#rooms = rooms;
    this.#window = new SlidingWindow(findLimit(rooms, plan));
  }

  /** What is counted stays. */
  usePlan(plan: ResidentPlan): void {
    this.#window.limit = findLimit(this.#rooms, plan);
  }

  count(): number {
    return this.#window.count(this.#rooms.clock.monotonicMs());
  }

  clear(): void {
    this.#window.clear();
  }

  /** The block of the key, if this one was too many. */
  add(ending: ResidentEnding): KeyState | null {
    const isTooMany = this.#window.add(this.#rooms.clock.monotonicMs());
    return isTooMany ? { kind: 'blocked', detail: describeEnding(ending) } : null;
  }

  waitToRespawn(onOver: () => void): KeyState {
    return { kind: 'waiting', cancel: this.#wait(onOver) };
  }

  /** A trial that ended by itself is begun again as a worker that crashed is, and as often. */
  composeRetries(goOn: () => void): Retries {
    return { limit: this.#window.limit.limit, wait: (onOver) => this.#wait(onOver), goOn };
  }

  #wait(onOver: () => void): () => void {
    const { clock, limits } = this.#rooms;
    return clock.setTimer(limits.respawnMs, onOver);
  }
}

function findLimit({ limits }: KeyRooms, { grant }: ResidentPlan) {
  return grant.crashes ?? limits.crashes;
}
