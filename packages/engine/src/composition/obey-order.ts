/**
 * Orders that another process may send to this host: report that it lives or how far its runs are, stop a run, forward a
 * message or a decision; or report what happens.
 */
import { definedOnly, EVENTS, type EventType } from '@caisson/protocol';
import type { Dispatcher } from '../admission/index.ts';
import type { FollowOrder, HostOrder, HostReply } from '../hosts/index.ts';
import type { EventFeed } from '../ledger/index.ts';
import { readStates } from '../operations/live-runs.ts';
import type { Approvals } from '../questions/index.ts';
import type { LiveStates } from './live-states.ts';

interface Obeying {
  readonly approvals: Approvals;
  readonly dispatcher: Dispatcher;
  readonly live: Pick<LiveStates, 'read'>;
}

export async function obeyOrder(
  order: HostOrder,
  { approvals, dispatcher, live }: Obeying,
): Promise<HostReply> {
  if (order.kind === 'ping') return { ok: true };
  if (order.kind === 'state') return { ok: true, value: readStates(live, order.runs ?? []) };
  if (order.kind === 'decide') {
    const isOpen = await approvals.decide(order.approvalId ?? '', order.decision ?? 'deny');
    return isOpen ? { ok: true } : { ok: false, message: `${order.approvalId ?? ''} is not open here` };
  }
  const handle = dispatcher.active(order.runId ?? '');
  if (handle === null) return { ok: false, message: `this host does not run ${order.runId ?? ''}` };
  if (order.kind === 'cancel')
    handle.cancel({ force: order.force ?? false, interrupt: order.interrupt ?? false });
  if (order.kind === 'send') return { ok: true, value: await handle.send(order.body ?? '') };
  return { ok: true };
}

/** Only what is live: a follower reads the record itself, from its own cursor, so that no broken connection costs it any. */
export function reportLive(
  { runs, types }: FollowOrder,
  gone: AbortSignal,
  feed: EventFeed,
): AsyncIterable<object> {
  return feed.live({ ...definedOnly({ runs, types: types?.filter(isKnown) }) }, gone);
}

/** A newer version may ask for more than there is here. */
function isKnown(type: string): type is EventType {
  return Object.hasOwn(EVENTS, type);
}
