/** What the runs of one server have spent, or may still spend. */
import { createSequence } from '@caisson/ground';
import type { Caisson } from '../../caisson-contract.ts';
import { GrantExceededError } from './errors.ts';

/** As many as a run may have children at once. */
const MAX_OPEN = 8;

interface Started {
  /** What it may spend; null where it had no cap. */
  readonly capUsd: number | null;
}

export interface SpentHere {
  /** Throws GrantExceededError where the server has as many runs under way as it may. */
  leftUsd(caisson: Pick<Caisson, 'runs'>): Promise<number | null>;
  started(runId: string, started: Started): void;
  /** One at a time, over all tools and sessions: two that look together would both get what is left. */
  inTurn<T>(work: () => Promise<T>): Promise<T>;
}

export function createSpentHere(totalUsd: number | null): SpentHere {
  const open = new Map<string, Started>();
  let endedUsd = 0;

  /** An ended run counts with its cost, and where that is unknown with all that it was allowed. */
  const settle = async (caisson: Pick<Caisson, 'runs'>): Promise<void> => {
    if (open.size === 0) return;
    for (const { runId, endedAt, costUsd, runtime } of await caisson.runs({ ids: [...open.keys()] })) {
      const started = open.get(runId);
      if (endedAt === undefined || started === undefined) continue;
      open.delete(runId);
      endedUsd += costUsd ?? (runtime === 'command' ? 0 : (started.capUsd ?? 0));
    }
  };
  return {
    async leftUsd(caisson) {
      await settle(caisson);
      if (open.size >= MAX_OPEN)
        throw new GrantExceededError(
          `${open.size} runs of this server are under way, and that is the limit`,
          {
            remedy: 'Wait for one of them, or cancel one.',
          },
        );
      if (totalUsd === null) return null;
      const reservedUsd = [...open.values()].reduce((sum, { capUsd }) => sum + (capUsd ?? 0), 0);
      return Math.max(0, totalUsd - endedUsd - reservedUsd);
    },
    started: (runId, started) => void open.set(runId, started),
    inTurn: createSequence(),
  };
}
