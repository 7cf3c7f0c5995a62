/** When a turn that ended without an outcome is made again. */
import { keyOfWorkflow } from './plans.ts';
import type { ThreadRooms } from './thread-rooms.ts';

/** So often after its worker ended by itself, or could not begin it, without any progress between. */
const MAX_REPEATS = 3;

export class TurnCrashes {
  #count = 0;
  #progress = 0;

  /** Why it is not made again, if it crashed too often. */
  add(progress: number, detail: string): string | null {
    this.#count = progress === this.#progress ? this.#count + 1 : 1;
    this.#progress = progress;
    return this.#count > MAX_REPEATS
      ? `its worker ended, or could not begin it, ${this.#count} times in this turn: ${detail}`
      : null;
  }

  clear(): void {
    this.#count = 0;
    this.#progress = 0;
  }
}

/** A key that is not declared, blocked or cannot be loaded is a matter of its own: its threads wait. */
export function isHeld({ runtime }: Pick<ThreadRooms, 'runtime'>, workflow: string): boolean {
  const state = runtime.view(keyOfWorkflow(workflow))?.state;
  return state === undefined || state === 'blocked' || state === 'unloadable';
}
