/** The inbox as it stands on the page: nothing moves under a pointer without a moment in which nothing is decided. */
import { useEffect, useRef, useState } from 'react';
import {
  arrange,
  arrangeAnew,
  followChoice,
  hasMovedUp,
  NOTHING_ARRANGED,
  NOTHING_CHOSEN,
  type InboxItem,
} from './inbox-items.ts';

/** Long enough to see that another entry is chosen, or under the pointer, now. */
const SEEN_MS = 700;

export interface ArrangedInbox {
  readonly items: readonly InboxItem[];
  /** How many have come below that are more urgent. */
  readonly late: number;
  /** Puts the most urgent first. */
  sort(): void;
  readonly chosen: string | null;
  choose(id: string): void;
  /** The choice changed by itself a moment ago: a key that is on its way was meant for the entry before. */
  hasJustMoved(): boolean;
  /** Entries moved up a moment ago: a press that is on its way was meant for another one. */
  readonly isSettling: boolean;
}

export function useArranged(urgent: readonly InboxItem[]): ArrangedInbox {
  const [state, setState] = useState({ arranged: NOTHING_ARRANGED, choice: NOTHING_CHOSEN, rises: 0 });
  const { arranged, choice, rises } = state;
  if (arranged.urgent !== urgent) {
    const next = arrange(arranged, urgent);
    setState({
      arranged: next,
      choice: followChoice(choice, arranged.items, next.items),
      rises: rises + (hasMovedUp(arranged.items, next.items) ? 1 : 0),
    });
  }
  const movedAt = useRef(-SEEN_MS);
  useEffect(() => {
    if (choice.moves > 0) movedAt.current = performance.now();
  }, [choice.moves]);
  return {
    items: arranged.items,
    late: arranged.late.size,
    sort: () => setState((before) => ({ ...before, arranged: arrangeAnew(before.arranged.urgent) })),
    chosen: choice.id,
    choose: (wanted) => {
      movedAt.current = -SEEN_MS;
      setState((before) => ({ ...before, choice: { ...before.choice, id: wanted } }));
    },
    hasJustMoved: () => performance.now() - movedAt.current < SEEN_MS,
    isSettling: useSettling(rises),
  };
}

/** True for a moment from each rise on. */
function useSettling(rises: number): boolean {
  const [settled, setSettled] = useState(rises);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(rises), SEEN_MS);
    return () => clearTimeout(timer);
  }, [rises]);
  return settled !== rises;
}
