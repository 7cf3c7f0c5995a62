import type { HoldRow, SlotRow } from './contract.ts';
import type { RunState } from './ledger-view.ts';
import { queuedIn } from './project.ts';
import type { WorkingRows } from './storage.ts';

/** Slots, the queue for them, holds and small values in this process. */
export function createMemoryRows(runs: ReadonlyMap<string, RunState>): WorkingRows {
  const slots = new Map<string, SlotRow>();
  const holds = new Map<string, HoldRow>();
  const spaces = new Map<string, Map<string, string>>();
  const queue = (pool: string) =>
    [...runs.values()]
      .filter((run) => queuedIn(run) === pool && !slots.has(run.runId))
      .map(({ host, ...run }) => ({ ...run, hostId: host }));
  return {
    slot: (runId) => slots.get(runId) ?? null,
    slots: (pool) => [...slots.values()].filter((row) => pool === undefined || row.pool === pool),
    putSlot: (row) => slots.set(row.runId, { ...row }),
    deleteSlot: (runId) => slots.delete(runId),
    queue,
    queueFronts: queue, // such a short list needs no index
    queueCount: (pool) => queue(pool).length,
    waiting: (pool, runId) => queue(pool).find((row) => row.runId === runId) ?? null,
    countBefore: (pool, { priority, acceptedOffset }) =>
      queue(pool).filter((row) => row.priority <= priority && row.acceptedOffset < acceptedOffset).length,
    queueBeside: (pool, { priority, acceptedOffset }) =>
      queue(pool).filter((row) =>
        row.priority > priority
          ? row.acceptedOffset < acceptedOffset
          : row.priority < priority && row.acceptedOffset > acceptedOffset,
      ),
    hold: (name) => holds.get(name) ?? null,
    holds: () => [...holds.values()].sort((a, b) => (a.name < b.name ? -1 : 1)),
    putHold: (row) => holds.set(row.name, { ...row }),
    deleteHold: (name) => holds.delete(name),
    rowsOfHost: (hostId) => ({
      slots: [...slots.values()].filter((row) => row.hostId === hostId).map((row) => row.runId),
      holds: [...holds.values()].filter((row) => row.hostId === hostId).map((row) => row.name),
    }),
    hostIds: () => [...new Set([...slots.values(), ...holds.values()].map((row) => row.hostId))].sort(),
    value: (space, key) => spaces.get(space)?.get(key) ?? null,
    values: (space) =>
      [...(spaces.get(space) ?? [])]
        .map(([key, text]) => ({ key, text }))
        .sort((a, b) => (a.key < b.key ? -1 : 1)),
    putValue: (space, key, text) => {
      spaces.set(space, (spaces.get(space) ?? new Map<string, string>()).set(key, text));
    },
    deleteValue: (space, key) => spaces.get(space)?.delete(key) ?? false,
  };
}
