/**
 * The outcomes of the steps of one turn, given to the role as they were given to it before: one at a time, in the order in
 * which the steps ended, and each only when the role has asked for as many steps as it had asked for then. So a role that is
 * repeated finds the same step to be the first of several, and asks for the same ones after it.
 */
import type { StepOutcome } from '@caisson/protocol';

/**
 * A role whose own code was changed, or takes longer than before, is not kept waiting for ever: after so long without a change
 * it gets what it waits for.
 */
const LONGEST_WAIT_MS = 60_000;
const { setTimeout: after, clearTimeout: cancel, setImmediate: inNextTurn } = globalThis; // as it is before the user's code could change it

export interface Outcomes {
  /** The role has asked for this step, as the next one. Resolves when it gets the outcome. */
  next(ordinal: number): Promise<StepOutcome>;
  /** Whether the outcome is known, and the role does not have it yet. */
  isKnown(ordinal: number): boolean;
  /** The step is over. One that is known has no effect. */
  add(ordinal: number, outcome: StepOutcome): void;
  /** Whether recorded outcomes are still to come. */
  isReplaying(): boolean;
  abort(why: Error): void;
}

export function createOutcomes(
  recorded: readonly { readonly ordinal: number; readonly outcome?: StepOutcome | undefined }[],
  longestWaitMs = LONGEST_WAIT_MS,
): Outcomes {
  const known = new Map<number, StepOutcome>();
  for (const { ordinal, outcome } of recorded) if (outcome !== undefined) known.set(ordinal, outcome);
  const replayed = new Set(known.keys());
  const open = new Map<number, PromiseWithResolvers<StepOutcome>>();
  let [asked, given] = [0, 0];
  let isDue = false;
  let waiting: NodeJS.Timeout | undefined;
  const look = (): void => {
    cancel(waiting);
    waiting = undefined;
    if (!isDue) inNextTurn(release); // what the role does with the one before comes first
    isDue = true;
  };
  const release = (): void => {
    isDue = false;
    const [ordinal, outcome] = findFirst(known) ?? [];
    if (ordinal === undefined || outcome === undefined) return;
    if (placeOf(outcome) <= given && asked >= (outcome.asked ?? 0) && open.has(ordinal))
      give(ordinal, outcome);
    else waiting ??= after(giveAny, longestWaitMs);
  };
  const giveAny = (): void => {
    const [ordinal, outcome] = findFirst(known, (each) => open.has(each)) ?? [];
    if (ordinal !== undefined && outcome !== undefined) give(ordinal, outcome);
  };
  const give = (ordinal: number, outcome: StepOutcome): void => {
    known.delete(ordinal);
    replayed.delete(ordinal);
    given = Math.max(given, placeOf(outcome) + 1);
    open.get(ordinal)?.resolve(outcome);
    open.delete(ordinal);
    look();
  };
  return {
    next(ordinal) {
      asked = ordinal + 1;
      const answer = Promise.withResolvers<StepOutcome>();
      open.set(ordinal, answer);
      look();
      return answer.promise;
    },
    isKnown: (ordinal) => known.has(ordinal),
    add(ordinal, outcome) {
      if (ordinal < asked && !open.has(ordinal)) return; // the role has it
      if (!known.has(ordinal)) known.set(ordinal, outcome);
      look();
    },
    isReplaying: () => replayed.size > 0,
    abort(why) {
      cancel(waiting);
      known.clear();
      for (const { reject } of open.values()) reject(why);
      open.clear();
    },
  };
}

/** The one that ended first, of those that are meant. */
function findFirst(
  known: ReadonlyMap<number, StepOutcome>,
  isMeant: (ordinal: number) => boolean = () => true,
): [number, StepOutcome] | undefined {
  let found: [number, StepOutcome] | undefined;
  for (const each of known)
    if (isMeant(each[0]) && (found === undefined || placeOf(each[1]) < placeOf(found[1]))) found = each;
  return found;
}

function placeOf({ place = 0 }: StepOutcome): number {
  return place;
}
