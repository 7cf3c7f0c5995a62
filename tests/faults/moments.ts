/** Labelled moments in the life of a run, seen from outside: by what is in the ledger and in the state folder. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { EventType } from '@caisson/protocol';
import type { Ledger } from '../../packages/engine/src/ledger/index.ts';

export type Moment =
  | 'accepted'
  | 'preparing'
  | 'job-written'
  | 'launched'
  | 'started'
  | 'agent'
  | 'captured'
  | 'result'
  | 'checkpointed'
  | 'ended'
  | 'sealed'
  | 'removed';

/** In the order of a run's life. */
export const MOMENTS: readonly Moment[] = [
  ...(['accepted', 'preparing', 'job-written', 'launched', 'started', 'agent'] as const),
  ...(['captured', 'result', 'checkpointed', 'ended', 'sealed', 'removed'] as const),
];

export interface Watched {
  readonly root: string;
  readonly stateDir: string;
  readonly ledger: Ledger;
  /** Repository that keeps the checkpoints. */
  readonly custody: string;
}

export function hasCome(moment: Moment, { stateDir, ledger, custody }: Watched): boolean {
  const hasEvent = (type: EventType): boolean => ledger.read({ types: [type] }).length > 0;
  const hasFile = (folder: string): boolean => listFolder(join(stateDir, folder)).length > 0;
  const hasEnded = (): boolean => ledger.runs().some((row) => row.ending !== undefined);
  switch (moment) {
    case 'accepted':
      return hasEvent('dispatch.accepted');
    case 'preparing':
      return hasFile('worktrees');
    case 'job-written':
      return hasFile('runtime/jobs');
    case 'launched':
      return hasEvent('attempt.launched');
    case 'started':
      return hasEvent('dispatch.started');
    case 'agent':
      // A late reader finds the run ended and its files gone.
      return (
        hasEnded() ||
        listFolder(join(stateDir, 'runtime/spool')).some((name) =>
          existsSync(join(stateDir, 'runtime/spool', name, 'stdout')),
        )
      );
    case 'captured':
      return listFolder(join(stateDir, 'runtime/captures')).some(
        (name) => listFolder(join(stateDir, 'runtime/captures', name)).length > 0,
      );
    case 'result':
      return (
        hasEnded() ||
        listFolder(join(stateDir, 'runtime/results')).some((name) => name.endsWith('.result.json'))
      );
    case 'checkpointed':
      return listFolder(join(custody, 'refs/caisson')).length > 0;
    case 'ended':
      return hasEnded();
    case 'sealed':
      return hasEvent('evidence.sealed');
    case 'removed':
      return hasEvent('dispatch.accepted') && hasEvent('evidence.sealed') && !hasFile('worktrees');
  }
}

export function listFolder(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return []; // not made yet
  }
}
