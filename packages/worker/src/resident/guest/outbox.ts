/**
 * What computes of one sense emitted and their host has not recorded yet. A row is written in the transaction of its compute,
 * so that neither a signal nor a change of the state exists without the other.
 */
import { isRecord, MAX_UNDELIVERED, MAX_UNDELIVERED_BYTES, type EmittedSignal } from '@caisson/protocol';
import type { GroupDatabase, SqlValue } from './group-database.ts';

const { stringify, parse } = JSON;

export interface Emission {
  readonly computeId: string;
  readonly origin: string;
  readonly signals: EmittedSignal[];
}

export interface Outbox {
  /** What this compute emitted, if it is over already. */
  find(computeId: string): Emission | null;
  /** A part of the present compute. */
  add(emission: Emission): void;
  list(maxBytes?: number): Emission[];
  /** Their host has recorded them. They are removed between two computes: false if the rest is to be tried again, by `remove([])`. */
  remove(computeIds: readonly string[]): boolean;
}

/** Of a sense, in their order, as many as have so many bytes together. */
const FIRST_ROWS = `rowid IN (SELECT n FROM (
    SELECT rowid AS n, sum(octet_length(causes) + octet_length(signals)) OVER (ORDER BY rowid) AS bytes
    FROM caisson_outbox WHERE sense = ?1 ORDER BY rowid LIMIT ${MAX_UNDELIVERED}
  ) WHERE bytes <= ?2) ORDER BY rowid`;

export function createOutbox(database: GroupDatabase, sense: string): Outbox {
  const select = (condition: string, ...values: readonly SqlValue[]): Emission[] =>
    database.exists
      ? database
          .read(`SELECT id, causes, signals FROM caisson_outbox WHERE ${condition}`, ...values)
          .map((row) => ({
            computeId: String(row['id']),
            origin: String(row['causes']),
            signals: parseList(row['signals']),
          }))
      : [];
  /** Recorded, and still there. */
  const delivered = new Set<string>();
  const removeDelivered = (): void => {
    for (const id of delivered)
      database.write('DELETE FROM caisson_outbox WHERE id = ? AND sense = ?', id, sense);
    delivered.clear();
  };
  return {
    find: (computeId) =>
      delivered.has(computeId) ? null : (select('id = ? AND sense = ?', computeId, sense)[0] ?? null),
    add({ computeId, origin, signals }) {
      const values = [computeId, sense, origin, stringify(signals)];
      database.write(
        'INSERT INTO caisson_outbox (id, sense, causes, signals) VALUES (?, ?, ?, ?)',
        ...values,
      );
    },
    list: (maxBytes = MAX_UNDELIVERED_BYTES) => select(FIRST_ROWS, sense, maxBytes),
    remove(computeIds) {
      for (const id of computeIds) delivered.add(id);
      return database.tryWriteAlone(removeDelivered);
    },
  };
}

/** We wrote it; the worker outside checks it all the same. */
function parseList<T>(text: unknown): T[] {
  const value: unknown = parse(String(text));
  return Array.isArray(value) ? (value.filter(isRecord) as T[]) : [];
}
