/** How many turns have a thread at the same time; the others wait for their place, in the order in which they came. */
import type { TurnOrder } from './thread-messages.ts';

/** Resolves when its thread is gone; false when it could not begin while others had a place. */
type MakeTurn = (order: TurnOrder) => Promise<boolean>;

export interface TurnPlaces {
  add(order: TurnOrder, make: MakeTurn): void;
  /** Whether it was waiting; it does not begin any more. */
  remove(id: string): boolean;
}

export function createPlaces(maxTurns: number): TurnPlaces {
  const waiting: { readonly order: TurnOrder; readonly make: MakeTurn }[] = [];
  let taken = 0;
  const begin = async (): Promise<void> => {
    const next = waiting.shift();
    if (next === undefined) return;
    taken += 1;
    const isMade = await next.make(next.order);
    taken -= 1;
    if (!isMade) waiting.unshift(next);
    if (!isMade && taken > 0) return; // the next one that is over gives it another chance
    for (let free = maxTurns - taken; free > 0 && waiting.length > 0; free -= 1) void begin();
  };
  return {
    add(order, make) {
      waiting.push({ order, make });
      if (taken < maxTurns) void begin();
    },
    remove(id) {
      const index = waiting.findIndex(({ order }) => order.id === id);
      if (index !== -1) waiting.splice(index, 1);
      return index !== -1;
    },
  };
}
