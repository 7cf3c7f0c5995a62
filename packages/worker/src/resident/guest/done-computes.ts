/**
 * Which computes of one sense are over. A row is written in the transaction of its compute, so that one whose answer was lost,
 * or that a later host asks for again, changes and emits nothing a second time (RE7).
 */
import type { GroupDatabase } from './group-database.ts';

/** Of each sense: more than a host asks for again. */
const MAX_KEPT = 2048;
const FORGET_EVERY = 64;

export interface DoneComputes {
  has(computeId: string): boolean;
  /** A part of the present compute; the last one is kept longest. */
  add(computeIds: readonly string[]): void;
}

export function createDoneComputes(database: GroupDatabase, sense: string): DoneComputes {
  let adds = 0;
  const forgetOld = (): void => {
    database.write(
      `DELETE FROM caisson_done WHERE sense = ?1 AND n <= (SELECT n FROM caisson_done NOT INDEXED WHERE sense = ?1
        ORDER BY n DESC LIMIT 1 OFFSET ${MAX_KEPT})`,
      sense,
    );
  };
  return {
    has: (computeId) =>
      database.exists &&
      database.read('SELECT n FROM caisson_done WHERE sense = ? AND id = ?', sense, computeId).length > 0,
    add(computeIds) {
      for (const id of computeIds)
        database.write('INSERT INTO caisson_done (sense, id) VALUES (?, ?)', sense, id);
      if (adds++ % FORGET_EVERY === 0) forgetOld();
    },
  };
}
