/** Follows everything that happens in the project: what is recorded from the ledger, what is live from every host. */
import { definedOnly, type EventEnvelope } from '@caisson/protocol';
import type { FollowOptions } from '../caisson-contract.ts';
import { readEvents } from '../dispatch/index.ts';
import type { Engine } from '../engine.ts';
import { createLook } from './follow-run.ts';
import { createLiveHosts } from './live-hosts.ts';

export async function* followProject(
  engine: Engine,
  find: (run: string) => string,
  { after = engine.ledger.lastOffset(), runs, types, signal }: FollowOptions = {},
): AsyncGenerator<EventEnvelope> {
  const filter = definedOnly({ runs: runs?.map(find), types });
  const live = createLiveHosts(engine, filter, () => engine.hosts.list(0));
  const query = { ...filter, after, signal, others: live.source, onIdle: createLook(engine) };
  yield* readEvents(engine.feed, {
    ...query,
    onRecorded: ({ type }) => type === 'dispatch.accepted' && live.look(), // it may be of a new host
  });
}
