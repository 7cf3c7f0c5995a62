import type { Ledger, StoredEvent } from './contract.ts';

/** What all of one reader's reads have. */
export interface PageQuery {
  readonly runId?: string;
  readonly after: number;
  readonly limit: number;
}

export interface SharedReads {
  read(query: PageQuery): readonly StoredEvent[];
  /** The ledger has changed. */
  forget(): void;
}

/**
 * For readers at the same place that want the same at the same time: what one has read in this turn of the event loop, the
 * others get as well. They may miss what another process has recorded in this very turn, and hear of that change later.
 */
export function createSharedReads(ledger: Pick<Ledger, 'read'>): SharedReads {
  const pages = new Map<string, readonly StoredEvent[]>();
  const forget = (): void => pages.clear();
  return {
    forget,
    read(query) {
      const key = `${query.runId ?? ''} ${query.after} ${query.limit}`;
      const known = pages.get(key);
      if (known !== undefined) return known;
      const page = ledger.read(query);
      if (pages.size === 0) setImmediate(forget);
      pages.set(key, page);
      return page;
    },
  };
}
