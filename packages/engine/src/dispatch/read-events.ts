import { toEnvelope, type EventEnvelope } from '@caisson/protocol';
import type { EventFeed, FeedQuery, PublishedEvent } from '../ledger/index.ts';

/** A feed in the form that people and programs see. */
export async function* readEvents(feed: EventFeed, query: FeedQuery): AsyncGenerator<EventEnvelope> {
  for await (const event of feed.read(query)) yield envelopeOf(event);
}

/** All readers of an event get one object, which none of them can change: what is made of it can be made once. */
const envelopes = new WeakMap<PublishedEvent, EventEnvelope>();

function envelopeOf(event: PublishedEvent): EventEnvelope {
  const known = envelopes.get(event);
  if (known !== undefined) return known;
  const envelope = Object.freeze(toEnvelope(event));
  envelopes.set(event, envelope);
  return envelope;
}
