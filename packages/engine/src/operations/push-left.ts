/** Branches that a dead host did not push: the next host that works does it, beside its own runs. */
import { pushBranch } from '../attempt/index.ts';
import type { Engine } from '../engine.ts';
import { hasSlot } from './branches.ts';

/** How long the end of a process waits for a push that is under way; the next host tries it again. */
const LAST_PUSH_MS = 10_000;

export async function pushLeft(engine: Engine, signal?: AbortSignal): Promise<void> {
  const { ledger, recorder, rooms } = engine;
  for (const { runId, host } of ledger.runs({ waitingBranch: 'pending' })) {
    if (signal?.aborted === true) return;
    // A run keeps its slot until its own host has pushed; what this host did not push of its own is not left by a dead one.
    if (host === rooms.hostId || hasSlot(ledger, runId)) continue;
    await pushBranch(rooms, recorder.of(runId), runId, {
      cause: 'left',
      ...(signal === undefined ? {} : { signal }),
    });
  }
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
