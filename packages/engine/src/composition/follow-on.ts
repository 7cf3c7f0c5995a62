/**
 * Who follows through a daemon follows on without it, and an order to stop a run reaches its next host. What is recorded is in the ledger, and the next host of a run is
 * found there, too: a reader misses nothing that is recorded, and gets nothing twice.
 */
import { definedOnly, type EventEnvelope } from '@caisson/protocol';
import type { ReadOptions } from '../admission/index.ts';
import { isDaemonLoss } from '../api/index.ts';
import type { Caisson, FollowOptions } from '../caisson-contract.ts';

/** `openHere` opens the project in this process; it is called when a daemon went away, and once. */
export function withFollowers(remote: Caisson, openHere: () => Promise<Caisson>): Caisson {
  let opened: Promise<Caisson> | null = null;
  const here = (): Promise<Caisson> => (opened ??= openHere());
  return {
    ...remote,
    follow: (first: string | FollowOptions = {}, how: ReadOptions = {}) =>
      typeof first === 'string' ? followRun(remote, here, first, how) : followAll(remote, here, first),
    followLog: (run, name, how = {}) => followLog(remote, here, { run, name, how }),
    // The daemon may leave the run to the next one.
    cancel: (run, how) =>
      remote.cancel(run, how).catch(async (error: unknown) => {
        if (!isDaemonLoss(error)) throw error;
        return (await here()).cancel(run, how);
      }),
    async close() {
      await remote.close();
      await (await opened?.catch(() => null))?.close();
    },
  };
}

async function* followRun(
  remote: Caisson,
  here: () => Promise<Caisson>,
  run: string,
  how: ReadOptions,
): AsyncGenerator<EventEnvelope, void, void> {
  let found = run; // `latest` may be another one by then
  let { after } = how;
  try {
    for await (const event of remote.follow(run, how)) {
      found = event.runId ?? found;
      if (event.seq > 0) after = event.seq;
      yield event;
    }
    return;
  } catch (error) {
    if (!isDaemonLoss(error)) throw error;
  }
  yield* (await here()).follow(found, { ...how, ...(after === undefined ? {} : { after }) });
}

async function* followAll(
  remote: Caisson,
  here: () => Promise<Caisson>,
  how: FollowOptions,
): AsyncGenerator<EventEnvelope, void, void> {
  let { after } = how;
  try {
    // Before the first event comes there would be no place to go on from.
    if (how.onlyRecorded !== true) after ??= await remote.lastOffset();
    for await (const event of remote.follow({ ...how, ...definedOnly({ after }) })) {
      if (event.offset > 0) after = event.offset;
      yield event;
    }
    return;
  } catch (error) {
    if (!isDaemonLoss(error)) throw error;
  }
  yield* (await here()).follow({ ...how, ...(after === undefined ? {} : { after }) });
}

async function* followLog(
  remote: Caisson,
  here: () => Promise<Caisson>,
  { run, name, how }: { run: string; name: 'stdout' | 'stderr'; how: { signal?: AbortSignal } },
): AsyncGenerator<Buffer, void, void> {
  const runId = await remote.find(run);
  let passed = 0;
  try {
    for await (const chunk of remote.followLog(runId, name, how)) {
      passed += chunk.length;
      yield chunk;
    }
    return;
  } catch (error) {
    if (!isDaemonLoss(error)) throw error;
  }
  for await (const chunk of (await here()).followLog(runId, name, how)) {
    const known = Math.min(passed, chunk.length);
    passed -= known;
    if (known < chunk.length) yield chunk.subarray(known);
  }
}
