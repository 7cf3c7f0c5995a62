import { createHash } from 'node:crypto';
import { LedgerCorruptError } from '../errors.ts';

/**
 * Rows are derived and are not in the hash chain, so each carries a short hash as its last member: a flipped byte in a
 * status or a cost is named when it is read (L6) and never shown as correct.
 */
export function writeRow(row: object): string {
  const text = JSON.stringify(row);
  return `${text.slice(0, -1)},"check":"${checkOf(text)}"}`;
}

export function parseRow<T>(stored: string, file: string): T {
  // Rows of the first ledgers have no check.
  const [tail, check] = /,"check":"([0-9a-f]{16})"\}$/.exec(stored) ?? [];
  const text = tail === undefined ? stored : `${stored.slice(0, -tail.length)}}`;
  if (check !== undefined && check !== checkOf(text)) throw damagedRow(file, 'was changed');
  try {
    return JSON.parse(text) as T;
  } catch (error) {
    throw damagedRow(file, 'is not JSON', error);
  }
}

function checkOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

function damagedRow(file: string, how: string, cause?: unknown): LedgerCorruptError {
  return new LedgerCorruptError(file, `a row that was derived from its events ${how}`, {
    cause,
    remedy:
      'The events are intact: caisson doctor checks them, caisson doctor --repair derives the rows again.',
  });
}
