/** One published number: ours and a peer's from the same run on the same machine, so that only the ratio counts. */
export interface BenchRow {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly peer: string;
  readonly peerValue: number;
  readonly ratio: number;
  /** What was promised, in words, e.g. `>= 10x`. */
  readonly target: string;
  readonly met: boolean;
  /** Why there is no number; then value, peer and ratio are none, and the target is neither met nor missed. */
  readonly unmeasured?: string;
  /** What the number consists of: lines that are printed below it. */
  readonly details?: readonly string[];
}

/** What is known of a row before it is measured. */
export type RowHead = Pick<BenchRow, 'name' | 'unit' | 'peer' | 'target'>;

/** A row without a number: what it needs is not on this machine. */
export function unmeasuredRow(row: RowHead, unmeasured: string): BenchRow {
  const none = Number.NaN;
  return { ...row, value: none, peerValue: none, ratio: none, met: false, unmeasured };
}

/** A module that measures. Importing it must do nothing. */
export interface BenchModule {
  run(): Promise<BenchRow[]>;
}

export function isBenchModule(module: unknown): module is BenchModule {
  return typeof module === 'object' && module !== null && 'run' in module && typeof module.run === 'function';
}
