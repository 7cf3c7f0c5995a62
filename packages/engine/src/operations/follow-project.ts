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
  options: FollowOptions = {},
): AsyncGenerator<EventEnvelope> {
  const { onlyRecorded = false, runs, types, signal } = options;
  const { after = onlyRecorded ? 0 : engine.ledger.lastOffset() } = options;
  const filter = definedOnly({ runs: runs?.map(find), types });
  if (onlyRecorded) {
    const recorded = readEvents(engine.feed, { ...filter, after, signal, until: AbortSignal.abort() });
    for await (const event of recorded) if (event.seq > 0) yield event;
    return;
  }
  const live = createLiveHosts(engine, filter, () => engine.hosts.list(0));
  const query = { ...filter, after, signal, others: live.source, onIdle: createLook(engine) };
  yield* readEvents(engine.feed, {
    ...query,
    onRecorded: ({ type }) => type === 'dispatch.accepted' && live.look(), // it may be of a new host
  });
}
