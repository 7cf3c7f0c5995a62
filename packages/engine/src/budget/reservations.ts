/** Money that running runs may still spend; working rows that all processes of the project share. */
import { isDeepStrictEqual } from 'node:util';
import type { Usage } from '@caisson/protocol';
import type { Books, EarlierUse } from './contract.ts';

const SPACE = 'reservation';
/** A host may die between the reservation and the acceptance; no admission takes this long. */
const ADMISSION_MS = 10 * 60_000;

export interface Counts {
  readonly tokens: number;
  readonly turns: number;
  readonly toolCalls: number;
}

export interface Reservation {
  readonly runId: string;
  /** What the run may spend, as far as that is known when it starts. */
  readonly usd: number;
  /** Its own cap, or null where only its session or day has one. */
  readonly capUsd: number | null;
  /** What it has spent so far, in all its attempts. */
  readonly usedUsd: number;
  readonly counts: Counts;
  /** What the attempt under way has used, for a host that recovers it; `earlier` identifies the attempt. */
  readonly last: { readonly usage: Usage; readonly earlier: EarlierUse } | null;
  /** What its dispatched runs had spent when they ended. */
  readonly childrenUsd: number;
  /** The run that dispatched it. */
  readonly parent: string | null;
  readonly session: string | null;
  readonly atMs: number;
}

const EMPTY = {
  usd: 0,
  capUsd: null,
  usedUsd: 0,
  counts: { tokens: 0, turns: 0, toolCalls: 0 },
  last: null,
  childrenUsd: 0,
  parent: null,
  session: null,
  atMs: 0,
} as const;

/** A row that promises nothing yet. */
export function beginReservation(
  books: Books,
  runId: string,
  { parent, session, capUsd }: Pick<Reservation, 'parent' | 'session' | 'capUsd'>,
): Reservation {
  return { ...EMPTY, runId, parent, session, capUsd, atMs: books.nowMs() };
}

export function writeReservation(books: Books, reservation: Reservation): void {
  books.rows.set(SPACE, reservation.runId, reservation);
}

/**
 * What a child spent counts for its parent from now on. `usedUsd` is what it spent, if more is known than was recorded.
 */
export function closeReservation(books: Books, runId: string, usedUsd = 0): void {
  const rows = readRows(books);
  const own = rows.find((row) => row.runId === runId);
  if (own === undefined) return;
  const parent = rows.find((row) => row.runId === own.parent);
  const spent = Math.max(own.usedUsd, usedUsd) + own.childrenUsd;
  if (parent !== undefined && spent > 0)
    writeReservation(books, { ...parent, childrenUsd: parent.childrenUsd + spent });
  books.rows.delete(SPACE, runId);
}

/** Reservations of runs that have ended in any way, or never began, no longer count. */
export function listReservations(books: Books): Reservation[] {
  return readRows(books).filter((row) => {
    const state = books.stateOf(row.runId);
    return state === 'open' || (state === 'unknown' && books.nowMs() - row.atMs <= ADMISSION_MS);
  });
}

/** What the latest attempt had used when that was last written, or `null` if it was not written. */
export function lastUsage(books: Books, runId: string, earlier: EarlierUse): Usage | null {
  const last = readRows(books).find((row) => row.runId === runId)?.last ?? null;
  return last !== null && isDeepStrictEqual(last.earlier, earlier) ? last.usage : null;
}

export function isReserved(books: Books, runId: string): boolean {
  return readRows(books).some((row) => row.runId === runId);
}

function readRows(books: Books): Reservation[] {
  return books.rows
    .list(SPACE)
    .map(({ key, value }) => ({ ...EMPTY, ...(value as Partial<Reservation>), runId: key }));
}

/** Drops the rows that no longer count. */
export function sweepReservations(books: Books): void {
  const counted = new Set(listReservations(books).map(({ runId }) => runId));
  for (const { runId } of readRows(books)) if (!counted.has(runId)) closeReservation(books, runId);
}

/** The run and those above it that are still running, nearest first. */
export function lineOf(held: readonly Reservation[], runId: string | null): Reservation[] {
  const line: Reservation[] = [];
  for (let next = runId; next !== null;) {
    const row = held.find((one) => one.runId === next);
    if (row === undefined || line.includes(row)) return line;
    line.push(row);
    next = row.parent;
  }
  return line;
}

/** What a run and everything under it has spent. */
export function familyUsd(held: readonly Reservation[], root: string): number {
  return sum(familyOf(held, root).map((row) => row.usedUsd + row.childrenUsd));
}

/**
 * What is reserved for running runs, or already spent by them, and not yet settled. A parent's reservation covers its
 * children. Within the family only real spending counts, or a parent would block its own child. `caps`: the same for
 * runs without their own cap; their share prevents others from starting, not from continuing.
 */
export function promisedUsd(
  held: readonly Reservation[],
  viewer: string | null,
  counts: 'promises' | 'caps' = 'promises',
): number {
  const own = lineOf(held, viewer).at(-1)?.runId;
  const roots = held.filter((row) => !held.some(({ runId }) => runId === row.parent));
  return sum(
    roots.map((root) => {
      const family = familyOf(held, root.runId);
      const spent = sum(family.map((row) => row.usedUsd));
      const booked = sum(family.map((row) => row.childrenUsd));
      const isOpen = counts === 'caps' && root.capUsd === null;
      return root.runId === own || isOpen ? spent : Math.max(root.usd - booked, spent);
    }),
  );
}

function familyOf(held: readonly Reservation[], root: string): Reservation[] {
  return held.filter((row) => lineOf(held, row.runId).some(({ runId }) => runId === root));
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
