/**
 * What of the ledger was delivered: everything up to the highest offset, but what is still under way. It is written whenever
 * something was delivered, so that a later host delivers again only what the earlier one had not finished.
 */
import type { Clock } from '@caisson/ground';
import { isRecord } from '@caisson/protocol';
import type { KeyValues, Ledger } from '../ledger/index.ts';

const SPACE = 'resident-delivery';
/** What had nothing to deliver is written a little later than it was seen. */
const SAVE_MS = 1000;

export interface DeliveryCursorOptions {
  readonly clock: Pick<Clock, 'setTimer'>;
  readonly ledger: Pick<Ledger, 'lastOffset' | 'whenFree'> & { readonly kv: KeyValues };
  warn(message: string): void;
}

interface Delivered {
  readonly highest: number;
  /** Those up to the highest that are not delivered. */
  readonly open: readonly number[];
}

export class DeliveryCursor {
  readonly #options: DeliveryCursorOptions;
  readonly #name: string;
  readonly #open: Set<number>;
  /** Open since an earlier host, and not begun here. */
  readonly #left: Set<number>;
  #highest: number;
  #isSaved = false;
  /** A write waits, and will have everything up to then. */
  #isWaiting = false;
  #cancelSave: (() => void) | null = null;

  /** The first cursor of a ledger begins at its end. */
  constructor(options: DeliveryCursorOptions, name: string) {
    this.#options = options;
    this.#name = name;
    const saved = readDelivered(options.ledger.kv.get(SPACE, name));
    this.#highest = saved?.highest ?? options.ledger.lastOffset();
    this.#open = new Set(saved?.open);
    this.#left = new Set(saved?.open);
    if (saved === null) this.save();
  }

  /** Behind which something may not be delivered. */
  get offset(): number {
    return offsetOf(this.#highest, [...this.#open]);
  }

  /** Whether this host or an earlier one delivered it. */
  isDelivered(offset: number): boolean {
    return offset <= this.#highest && !this.#open.has(offset);
  }

  /** In the order of the offsets. */
  begin(offset: number): void {
    this.#pass(offset);
    this.#open.add(offset);
  }

  end(offset: number): void {
    this.#open.delete(offset);
    this.#isSaved = false;
    this.save();
  }

  /** There is nothing to deliver. */
  skip(offset: number): void {
    this.#pass(offset);
    this.#open.delete(offset);
    this.#isSaved = false;
    this.#cancelSave ??= this.#options.clock.setTimer(SAVE_MS, () => this.save());
  }

  save(): void {
    this.#cancelSave?.();
    this.#cancelSave = null;
    if (this.#isSaved || this.#isWaiting) return;
    this.#isWaiting = true;
    this.#options.ledger
      .whenFree(() => this.#write())
      .catch(({ message }: Error) => {
        this.#isWaiting = false;
        this.#options.warn(`what was delivered is not recorded: ${message}`);
      });
  }

  #write(): void {
    const open = [...this.#open].sort((one, other) => one - other);
    const delivered = open.length === 0 ? this.#highest : { highest: this.#highest, open };
    this.#options.ledger.kv.set(SPACE, this.#name, delivered);
    this.#isSaved = true;
    this.#isWaiting = false;
  }

  /** What an earlier host left before this one, and is not found any more, was removed from the ledger. */
  #pass(offset: number): void {
    for (const left of this.#left) {
      if (left > offset) continue;
      this.#left.delete(left);
      this.#open.delete(left);
    }
    this.#highest = Math.max(this.#highest, offset);
  }
}

/** Of a cursor as it was written; null if there was none. */
export function findDeliveredOffset(kv: Pick<KeyValues, 'get'>, name: string): number | null {
  const saved = readDelivered(kv.get(SPACE, name));
  return saved === null ? null : offsetOf(saved.highest, saved.open);
}

function offsetOf(highest: number, open: readonly number[]): number {
  return open.length === 0 ? highest : Math.min(...open) - 1;
}

function readDelivered(value: unknown): Delivered | null {
  if (typeof value === 'number') return { highest: value, open: [] };
  if (!isRecord(value)) return null;
  const { highest, open } = value;
  const isList = Array.isArray(open) && open.every((offset) => typeof offset === 'number');
  return typeof highest === 'number' && isList ? { highest, open } : null;
}
