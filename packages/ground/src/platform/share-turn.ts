/**
 * Synchronous work is often faster than queued work, but it holds the event loop. Work that is made of several pieces calls
 * `shareTurn` between them: what comes after the share of a turn is used up waits for a later turn, first come, first served.
 * The share belongs to the process, not to a piece of work: many runs at once hold the loop no longer than one.
 */

/** How much of a turn is used before what can wait does. One piece more may still begin in it. */
const SHARE_MS = 1;
const HARDLY_USED_MS = 0.5;
/** A caller goes on so many microtasks after it was resumed, at the latest. */
const HOPS = 4;

interface Waiting {
  readonly isLong: boolean;
  resume(): void;
}

const waiting: Waiting[] = [];
let isMarking = false;
let isResuming = false;
let turnBeganAtMs = 0;
let idleBeforeMs = 0;

/** Resolves in a turn of the event loop with time left, at once if this one has. Rejects when `signal` is aborted. */
export async function shareTurn(signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  await waitInLine(false);
}

/** Resolves in a turn that is hardly used yet: for a piece that takes the whole share, such as the start of a program. */
export async function takeTurn(): Promise<void> {
  await waitInLine(true);
}

async function waitInLine(isLong: boolean): Promise<void> {
  if (!isMarking) beginTurn();
  isMarking = true;
  const turn = new Promise<void>((resume) => waiting.push({ isLong, resume }));
  if (!isResuming) scheduleResume();
  await turn;
}

function scheduleResume(): void {
  isResuming = true;
  if (hasTimeForNext()) queueMicrotask(() => void resume());
  else setImmediate(() => void resume());
}

/** Those that wait, until the share is used up; one of them always, or they would starve. */
async function resume(): Promise<void> {
  do {
    waiting.shift()?.resume();
    for (let hop = 0; hop < HOPS; hop += 1) await Promise.resolve(); // it goes on meanwhile, up to its next wait
  } while (waiting.length > 0 && hasTimeForNext());
  isResuming = false;
  if (waiting.length > 0) scheduleResume();
}

function hasTimeForNext(): boolean {
  return usedMs() < (waiting[0]?.isLong === true ? HARDLY_USED_MS : SHARE_MS);
}

/** An immediate without a reference runs at the end of each turn, and never causes one. */
function beginTurn(): void {
  turnBeganAtMs = performance.now();
  idleBeforeMs = performance.nodeTiming.idleTime;
  setImmediate(beginTurn).unref();
}

/** Since the turn began, without the wait for something to happen. */
function usedMs(): number {
  return performance.now() - turnBeganAtMs - (performance.nodeTiming.idleTime - idleBeforeMs);
}
