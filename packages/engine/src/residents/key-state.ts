/** The states of a key (contract.ts) and what it reports. */
import type { ResidentEnding } from '@caisson/protocol';
import type { ResidentPlan } from './contract.ts';
import { describeProblems, type Problems } from './describe-problems.ts';
import type { LiveWorker } from './live-worker.ts';
import type { LiveWorkerListener, LiveWorkerRooms } from './live-worker-rooms.ts';
import type { WindowLimit } from './sliding-window.ts';
import type { Retries } from './succession.ts';
import { failWork, type Refusal, type Work } from './work.ts';

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
/** No drop: the next host delivers again what this one does not. */
export const STOPPING: Refusal = { failure: { kind: 'crashed', detail: 'residents are stopped' } };
export const WITHDRAWN: Refusal = {
  failure: { kind: 'invalid', detail: 'it is no longer configured' },
  dropped: 'withdrawn',
};

/** Why a key in this state takes no work (RE4). */
export function findRefusal(state: KeyState): Refusal | null {
  if (state.kind === 'unloadable') return { failure: describeProblems(state.problems), dropped: 'blocked' };
  if (state.kind !== 'blocked') return null;
  const detail = `it crashed too often and is blocked (${state.detail})`.slice(0, 8192);
  return { failure: { kind: 'crashed', detail }, dropped: 'blocked' };
}

/** True when it was given to the worker, or refused; otherwise it waits. `refused`: problems of the version that was tried last. */
export function offerWork(
  { closed, plan, state }: { readonly closed: Refusal | null; readonly plan: ResidentPlan; state: KeyState },
  work: Work,
  refused: Problems,
): boolean {
  const refusal = closed ?? (isServed(plan, work) ? findRefusal(state) : WITHDRAWN);
  if (refusal === null) return state.kind === 'ready' && giveWork(state.worker, work, refused);
  failWork(work, refusal);
  return true;
}

/** A sense may be moved to another group while its work waits. */
function isServed({ modules }: ResidentPlan, work: Work): boolean {
  return work.kind === 'turn' || modules.some(({ name }) => name === work.order.name);
}

/** A file that could not be loaded gets no work, the others of its group do. False while it is being loaded, or tried in another worker. */
function giveWork(worker: LiveWorker, work: Work, refused: Problems): boolean {
  const name = work.kind === 'compute' ? work.order.name : (worker.plan.modules[0]?.name ?? '');
  const isKnown = isServed(worker.plan, work);
  if (isKnown ? worker.isLoading(name) : refused.size === 0) return false;
  const problem = isKnown ? worker.problems.get(name) : describeProblems(refused).detail;
  if (problem === undefined) worker.give(work);
  else failWork(work, { failure: { kind: 'invalid', detail: problem }, dropped: 'blocked' });
  return true;
}

/** A trial that ended by itself is begun again as a worker that crashed is, and as often. */
export function composeRetries(
  { clock, limits }: KeyRooms,
  { limit }: WindowLimit,
  goOn: () => void,
): Retries {
  return { limit, wait: (onOver) => clock.setTimer(limits.respawnMs, onOver), goOn };
}

export function waitToRespawn({ clock, limits }: KeyRooms, onOver: () => void): KeyState {
  return { kind: 'waiting', cancel: clock.setTimer(limits.respawnMs, onOver) };
}

/** Resolves when they are gone. */
export async function endWorkers(
  workers: readonly LiveWorker[],
  end: (worker: LiveWorker) => void,
): Promise<void> {
  for (const worker of workers) end(worker);
  await Promise.all(workers.map(({ ended }) => ended));
}
