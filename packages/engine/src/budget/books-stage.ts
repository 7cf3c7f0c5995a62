/** Records in memory, for the tests of this room. */
import type { Books } from './contract.ts';

export function createBooks(rows: Map<string, unknown>, more: Partial<Books> = {}): Books {
  return {
    spend: () => [],
    stateOf: () => 'open',
    usesModel: () => true,
    nowMs: () => 0,
    alone: (work) => work(),
    rows: {
      set: (_space, key, value) => void rows.set(key, value),
      delete: (_space, key) => rows.delete(key),
      list: () => [...rows].map(([key, value]) => ({ key, value })),
    },
    ...more,
  };
}
