import type { Denial, EventEnvelope } from '@caisson/protocol';

export interface CountedDenial extends Denial {
  readonly key: string;
  readonly count: number;
}

/** Recorded denials with their number; those of the result where none was recorded. */
export function listDenials(events: readonly EventEnvelope[], ofResult: readonly Denial[]): CountedDenial[] {
  const recorded = events.flatMap((event) => (event.type === 'policy.denied' ? [event.denial] : []));
  const all = recorded.length === 0 ? ofResult : recorded;
  const groups = Map.groupBy(all, ({ layer, what, rule }) => JSON.stringify([layer, what, rule]));
  return [...groups].flatMap(([key, members]) =>
    members.slice(0, 1).map((denial) => ({ ...denial, key, count: members.length })),
  );
}
