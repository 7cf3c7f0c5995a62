/** Another process has the ledger's write lock, for longer than one transaction waits. */
import { join } from 'node:path';
import { openDatabase } from '../../../../packages/engine/src/ledger/sqlite/open-database.ts';
import type { Moment } from '../../moments.ts';
import { choose } from '../choose.ts';
import type { Fault, Random } from '../contract.ts';
import { choosePhase, describePhase, reachPhase } from '../phases.ts';

/** One transaction waits 5 s, an append 30 s. */
const HOLD_SECONDS: [number, ...number[]] = [1, 6, 6, 8, 12, 12, 34, 75];

function tryLock(database: ReturnType<typeof openDatabase>): boolean {
  try {
    database.exec('BEGIN IMMEDIATE');
    return true;
  } catch (error) {
    if ((error as { code?: string }).code === 'SQLITE_BUSY') return false;
    throw error;
  }
}

export function createLockFault(random: Random, moments?: [Moment, ...Moment[]]): Fault {
  const phase = choosePhase(random, moments);
  const seconds = choose(random, HOLD_SECONDS);
  return {
    name: `lock the ledger for ${seconds} s ${describePhase(phase)}`,
    phase,
    async strike(stage, running) {
      if (!(await reachPhase(phase, stage, running))) return false;
      const database = openDatabase(join(stage.stateDir, 'ledger.db'));
      try {
        if (!tryLock(database)) return false; // another fault has it
        await new Promise((resolve) => setTimeout(resolve, seconds * 1000)); // the holding itself
        database.exec('ROLLBACK');
      } finally {
        database.close();
      }
      return true;
    },
  };
}
