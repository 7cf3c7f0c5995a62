/** The states of a key (contract.ts) and what it reports. */
import type { ResidentEnding } from '@caisson/protocol';
import type { ResidentPlan } from './contract.ts';
import { describeProblems, type Problems } from './describe-problems.ts';
import type { LiveWorker } from './live-worker.ts';
import type { LiveWorkerListener, LiveWorkerRooms } from './live-worker-rooms.ts';
import type { Refusal } from './work.ts';

export type KeyState =
  | { readonly kind: 'idle' }
  | { readonly kind: 'starting' | 'ready' | 'draining'; readonly worker: LiveWorker }
  | { readonly kind: 'waiting'; readonly cancel: () => void }
  | { readonly kind: 'blocked'; readonly detail: string }
  | { readonly kind: 'unloadable'; readonly problems: Problems };

/** A key, for its reports. */
export interface Key {
  readonly plan: ResidentPlan;
  readonly state: KeyState;
  countCrashes(): number;
}

/** What a key reports; the runtime records it. */
export interface KeyReports {
  started(key: Key, worker: LiveWorker, how: { readonly isNewVersion: boolean }): void;
  reported(key: Key, ...line: Parameters<LiveWorkerListener['onReport']>): void;
  ended(key: Key, worker: LiveWorker, ending: ResidentEnding): void;
  blocked(key: Key, ending: ResidentEnding): void;
  /** A version cannot be loaded; the old one stays, if one is at work. */
  refused(key: Key, problems: Problems): void;
}

export interface KeyRooms extends LiveWorkerRooms {
  readonly reports: KeyReports;
}

export const IDLE: KeyState = { kind: 'idle' };

/** Why a key in this state takes no work (RE4). */
export function findRefusal(state: KeyState): Refusal | null {
  if (state.kind === 'unloadable') return { failure: describeProblems(state.problems), dropped: 'blocked' };
  if (state.kind !== 'blocked') return null;
  const detail = `it crashed too often and is blocked (${state.detail})`.slice(0, 8192);
  return { failure: { kind: 'crashed', detail }, dropped: 'blocked' };
}

/** Resolves when they are gone. */
export async function endWorkers(
  workers: readonly LiveWorker[],
  end: (worker: LiveWorker) => void,
): Promise<void> {
  for (const worker of workers) end(worker);
  await Promise.all(workers.map(({ ended }) => ended));
}
