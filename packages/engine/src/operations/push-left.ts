/** Branches that a dead host did not push: the next host that works does it, beside its own runs. */
import { definedOnly } from '@caisson/protocol';
import { pushBranch } from '../attempt/index.ts';
import type { Engine } from '../engine.ts';
import { findAccepted, type Ledger, type RunRow } from '../ledger/index.ts';
import { forEachOf } from '../platform/index.ts';
import { hasSlot } from './branches.ts';

/** How long the end of a process waits for a push that is under way; the next host tries it again. */
const LAST_PUSH_MS = 10_000;

/** So many remotes at once: one that does not answer keeps back no branch of another one. */
const REMOTES_AT_ONCE = 4;

/** One after the other to each remote. */
export async function pushLeft(engine: Engine, signal?: AbortSignal): Promise<void> {
  const { ledger, recorder, rooms } = engine;
  const waiting = ledger.runs({ waitingBranch: 'pending' });
  // A run keeps its slot until its own host has pushed; what this host did not push of its own is not left by a dead one.
  const left = waiting.filter(({ runId, host }) => host !== rooms.hostId && !hasSlot(ledger, runId));
  const byRemote = Map.groupBy(left, ({ runId }) => findRemote(ledger, runId));
  const pushEach = async (runs: readonly RunRow[]): Promise<void> => {
    for (const { runId } of runs) {
      if (signal?.aborted === true) return;
      await pushBranch(rooms, recorder.of(runId), runId, { cause: 'left', ...definedOnly({ signal }) });
    }
  };
  await forEachOf([...byRemote.values()], pushEach, REMOTES_AT_ONCE);
}

function findRemote(ledger: Ledger, runId: string): string | undefined {
  return findAccepted(ledger, runId)?.data.repository?.remote;
}

export interface Pushing {
  /** Once in the life of the process. */
  begin(): void;
  stop(): Promise<void>;
}

export function createPushing(engine: Engine): Pushing {
  const end = new AbortController();
  let running: Promise<void> | null = null;
  return {
    begin() {
      running ??= pushLeft(engine, end.signal).catch(() => undefined); // it stays listed, and the next host tries it
    },
    async stop() {
      const cancel = engine.clock.setTimer(LAST_PUSH_MS, () => end.abort());
      await running;
      cancel();
    },
  };
}
