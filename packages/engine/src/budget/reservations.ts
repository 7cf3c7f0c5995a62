/** Money that running runs may still spend; working rows that all processes of the project share. */
import type { Ledger } from '../ledger/index.ts';

const SPACE = 'reservation';

export interface Reservation {
  readonly runId: string;
  readonly usd: number;
  readonly session: string | null;
  readonly day: string;
}

export function writeReservation(ledger: Pick<Ledger, 'kv'>, reservation: Reservation): void {
  ledger.kv.set(SPACE, reservation.runId, reservation);
}

export function removeReservation(ledger: Pick<Ledger, 'kv'>, runId: string): void {
  ledger.kv.delete(SPACE, runId);
}

/** Those of runs that have ended, in whatever way, count no more and are dropped here. */
export function listReservations(ledger: Pick<Ledger, 'kv' | 'run'>): Reservation[] {
  const held: Reservation[] = [];
  for (const { key, value } of ledger.kv.list(SPACE)) {
    if (ledger.run(key)?.ending === undefined) held.push(value as Reservation);
    else removeReservation(ledger, key);
  }
  return held;
}
