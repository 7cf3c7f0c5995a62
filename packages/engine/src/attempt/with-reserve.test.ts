import { expect, test } from 'vitest';
import { LedgerFullError } from '../ledger/index.ts';
import { withReserve } from './with-reserve.ts';

/** A disk that has room once `needed` parts of a reserve of two are free. */
function createFullDisk(needed: number) {
  let freed = 0;
  return {
    rooms: { freeReserve: () => freed < 2 && (freed += 1) > 0 },
    write: async () => {
      if (freed < needed) throw new LedgerFullError('ledger.db');
      return freed;
    },
    freed: () => freed,
  };
}

test('as many parts of the reserve are freed as the record needs, and no more', async () => {
  for (const needed of [0, 1, 2]) {
    const { rooms, write } = createFullDisk(needed);
    expect(await withReserve(rooms, write)).toBe(needed);
  }
});

test('without enough reserve the record fails, and so does one that may not use all of it', async () => {
  const tooFull = createFullDisk(3);
  await expect(withReserve(tooFull.rooms, tooFull.write)).rejects.toThrow(LedgerFullError);
  const note = createFullDisk(2);
  await expect(withReserve(note.rooms, note.write, 1)).rejects.toThrow(LedgerFullError);
  expect(note.freed()).toBe(1);
});
