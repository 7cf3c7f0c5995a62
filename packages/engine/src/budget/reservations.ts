/** Money that running runs may still spend; working rows that all processes of the project share. */
import type { Books } from './contract.ts';

const SPACE = 'reservation';

export interface Reservation {
  readonly runId: string;
  readonly usd: number;
  readonly session: string | null;
  readonly day: string;
}

export function writeReservation(books: Books, reservation: Reservation): void {
  books.rows.set(SPACE, reservation.runId, reservation);
}

export function removeReservation(books: Books, runId: string): void {
  books.rows.delete(SPACE, runId);
}

/** Those of runs that have ended, in whatever way, count no more and are dropped here. */
export function listReservations(books: Books): Reservation[] {
  const held: Reservation[] = [];
  for (const { key, value } of books.rows.list(SPACE)) {
    if (!books.hasEnded(key)) held.push(value as Reservation);
    else removeReservation(books, key);
  }
  return held;
}
