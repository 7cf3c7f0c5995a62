/** What `caisson top` reads, all of it through the public library. */
import type { Caisson, ListedRun } from '@caisson/engine';
import { CaissonError, RUN_STATUSES, TERMINAL_TYPES, type EventType } from '@caisson/protocol';
import type { ResidentsNow, TopData } from './top-state.ts';

/** More than a person looks at; the rest is `caisson runs`. */
const MAX_OPEN = 500;
const MAX_ENDED = 30;
const OPEN = ['queued', 'running', 'waiting'] as const;
const ENDED = RUN_STATUSES.filter((status) => !OPEN.some((open) => open === status));

/** What changes the list of runs at once; all else is read once a second. */
export const NEWS: readonly EventType[] = [
  'dispatch.accepted',
  'run.queued',
  'run.placed',
  'dispatch.started',
  'approval.requested',
  'approval.decided',
  'health.changed',
  'run.stalled',
  'attempt.ended',
  ...TERMINAL_TYPES,
  'resident.started',
  'resident.ended',
  'resident.blocked',
  'thread.accepted',
  'thread.ended',
];

export async function readRuns(caisson: Caisson): Promise<readonly ListedRun[]> {
  const open = await caisson.runs({ status: OPEN, newestFirst: true, limit: MAX_OPEN });
  const ended = await caisson.runs({ status: ENDED, newestFirst: true, limit: MAX_ENDED });
  const seen = new Set(open.map(({ runId }) => runId)); // one may end in between
  return [...open, ...ended.filter(({ runId }) => !seen.has(runId))];
}

/** Null without a daemon. */
export async function readResidents({ residents }: Caisson): Promise<TopData['residents']> {
  try {
    const workers = await residents.list();
    if (workers.length === 0) return { schedules: [...(await residents.schedules())] };
    const threads = await residents.threads({ status: ['queued', 'running', 'waiting'] });
    const count = (status: string): number => threads.filter((thread) => thread.status === status).length;
    const now: ResidentsNow = {
      residents: [...workers],
      threads: { queued: count('queued'), running: count('running'), waiting: count('waiting') },
      schedules: [...(await residents.schedules())],
    };
    return now;
  } catch (error) {
    if (isNoDaemon(error)) return null;
    throw error;
  }
}

function isNoDaemon(error: unknown): boolean {
  return error instanceof CaissonError && error.code === 'NO_DAEMON';
}
