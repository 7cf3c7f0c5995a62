// Slots and named exclusive leases. These are working rows: they say which process may act now, not what happened. The
// queue follows from the events. A slot is taken in one immediate transaction, so two processes can never both have the
// last one.

import type { Leases } from './contract.ts';
import type { WorkingRows } from './storage.ts';
import { byTurn } from './turn.ts';

type InTransaction = <T>(work: () => T) => T;

export function createLeases(rows: WorkingRows, reading: InTransaction, writing: InTransaction): Leases {
  return {
    tryTake: (request) => {
      // Checking is cheap and frequent; only a take that will succeed needs the write lock.
      const seen = reading(() => chanceOf(rows, request));
      return seen === 'taken' ? writing(() => take(rows, request)) : seen;
    },
    release: (runId) => writing(() => rows.deleteSlot(runId)),
    listSlots: (pool) => reading(() => rows.slots(pool)),
    listQueue: (pool, nowMs) =>
      reading(() => rows.queue(pool))
        .sort(byTurn(nowMs))
        .map(({ runId, hostId }) => ({ runId, pool, hostId })),
    findHead: (pool, nowMs) => reading(() => headOf(rows, pool, nowMs)),
    queueLength: (pool) => reading(() => rows.queueCount(pool)),
    positionOf: (pool, runId, nowMs) => reading(() => positionOf(rows, pool, runId, nowMs)),
    tryHold: (name, holder, hostId = holder) =>
      writing(() => {
        const current = rows.hold(name);
        if (current !== null) return current.holder === holder;
        rows.putHold({ name, holder, hostId });
        return true;
      }),
    free: (name, holder) =>
      reading(() => rows.hold(name)?.holder === holder) &&
      writing(() => rows.hold(name)?.holder === holder && rows.deleteHold(name)),
    holderOf: (name) => reading(() => rows.hold(name)),
    listHolds: () => reading(() => rows.holds()),
    transfer: (runId, hostId, pool) =>
      writing(() => {
        rows.deleteSlot(runId); // it may be gone with an earlier host
        rows.putSlot({ runId, pool, hostId });
        for (const hold of rows.holds().filter(({ holder }) => holder === runId))
          if (rows.deleteHold(hold.name)) rows.putHold({ ...hold, hostId });
      }),
    reclaim: (hostId) =>
      writing(() => {
        const had = rows.rowsOfHost(hostId);
        had.slots.forEach((runId) => rows.deleteSlot(runId));
        had.holds.forEach((name) => rows.deleteHold(name));
        return had;
      }),
    hosts: () => reading(() => rows.hostIds()),
  };
}

type TakeRequest = Parameters<Leases['tryTake']>[0];

function chanceOf(
  rows: WorkingRows,
  { pool, runId, hostId, limit, nowMs }: TakeRequest,
): 'taken' | 'full' | 'not-head' {
  const slot = rows.slot(runId);
  if (slot !== null) return slot.hostId === hostId ? 'taken' : 'not-head';
  if (rows.slots(pool).length >= limit) return 'full';
  return headOf(rows, pool, nowMs) === runId ? 'taken' : 'not-head';
}

function headOf(rows: WorkingRows, pool: string, nowMs: number): string | null {
  const [head] = rows.queueFronts(pool).sort(byTurn(nowMs));
  return head?.runId ?? null;
}

function positionOf(rows: WorkingRows, pool: string, runId: string, nowMs: number): number {
  const own = rows.waiting(pool, runId);
  if (own === null) return 0;
  const compare = byTurn(nowMs);
  const passing = rows.queueBeside(pool, own).filter((row) => compare(row, own) < 0);
  return 1 + rows.countBefore(pool, own) + passing.length;
}

function take(rows: WorkingRows, request: TakeRequest): 'taken' | 'full' | 'not-head' {
  const chance = chanceOf(rows, request);
  if (chance !== 'taken' || rows.slot(request.runId) !== null) return chance;
  rows.putSlot({ pool: request.pool, runId: request.runId, hostId: request.hostId });
  return 'taken';
}
