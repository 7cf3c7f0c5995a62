/** Which computes a worker is to forget, because what they emitted is recorded: several at once, each within a moment. */
import type { Clock } from '@caisson/ground';
import type { ResidentOrder } from '@caisson/protocol';

const MAX_IDS = 64;
const WAIT_MS = 50;

export class DeliveredOrders {
  readonly #clock: Pick<Clock, 'setTimer'>;
  readonly #order: (order: ResidentOrder) => void;
  readonly #waiting = new Map<string, string[]>();
  #cancel: (() => void) | null = null;

  constructor(clock: Pick<Clock, 'setTimer'>, order: (order: ResidentOrder) => void) {
    this.#clock = clock;
    this.#order = order;
  }

  add(name: string, computeId: string): void {
    const ids = this.#waiting.get(name) ?? [];
    this.#waiting.set(name, ids);
    if (ids.push(computeId) >= MAX_IDS) this.flush();
    else this.#cancel ??= this.#clock.setTimer(WAIT_MS, () => this.flush());
  }

  flush(): void {
    this.#cancel?.();
    this.#cancel = null;
    for (const [name, computeIds] of this.#waiting) this.#order({ kind: 'delivered', name, computeIds });
    this.#waiting.clear();
  }
}
