/**
 * Up to where in the ledger everything was delivered. It is written a little later than it moves: what is delivered again after
 * a crash has the same ids, so that it doubles nothing.
 */
import type { Clock } from '@caisson/ground';
import type { KeyValues, Ledger } from '../ledger/index.ts';

const SPACE = 'resident-delivery';
const SAVE_MS = 1000;

export interface DeliveryCursorOptions {
  readonly clock: Pick<Clock, 'setTimer'>;
  readonly ledger: Pick<Ledger, 'lastOffset'> & { readonly kv: KeyValues };
  warn(message: string): void;
}

export class DeliveryCursor {
  readonly #options: DeliveryCursorOptions;
  readonly #name: string;
  readonly #underWay = new Set<number>();
  #highest: number;
  #saved: number;
  #cancelSave: (() => void) | null = null;

  /** The first cursor of a ledger begins at its end. */
  constructor(options: DeliveryCursorOptions, name: string) {
    this.#options = options;
    this.#name = name;
    const saved = options.ledger.kv.get(SPACE, name);
    this.#saved = typeof saved === 'number' ? saved : -1;
    this.#highest = typeof saved === 'number' ? saved : options.ledger.lastOffset();
    this.save();
  }

  get offset(): number {
    return this.#underWay.size === 0 ? this.#highest : Math.min(...this.#underWay) - 1;
  }

  begin(offset: number): void {
    this.#underWay.add(offset);
    this.#highest = Math.max(this.#highest, offset);
  }

  end(offset: number): void {
    this.#underWay.delete(offset);
    this.#cancelSave ??= this.#options.clock.setTimer(SAVE_MS, () => this.save());
  }

  save(): void {
    this.#cancelSave?.();
    this.#cancelSave = null;
    const { offset } = this;
    if (offset === this.#saved) return;
    try {
      this.#options.ledger.kv.set(SPACE, this.#name, offset);
      this.#saved = offset;
    } catch (error) {
      this.#options.warn(`what was delivered is not recorded: ${(error as Error).message}`);
    }
  }
}
