/** Live events of other hosts: follows those that there are, again when one was lost, and new ones as they come. */
import { BusTopic, definedOnly } from '@caisson/protocol';
import type { Engine } from '../engine.ts';
import { MAX_FOLLOWED_RUNS } from '../hosts/index.ts';
import { parseLiveEvent, type EventFilter, type LiveSource } from '../ledger/index.ts';

/** How often it looks for hosts that it does not follow yet, or no longer. */
const LOOK_MS = 1000;

interface LiveHosts {
  readonly source: LiveSource;
  /** For callers that know of a new host. */
  look(): void;
}

export function createLiveHosts(
  { hosts, hostId: own, clock, bus }: Pick<Engine, 'hosts' | 'hostId' | 'clock' | 'bus'>,
  filter: EventFilter,
  findHosts: () => readonly string[],
): LiveHosts {
  const order = { kind: 'follow' as const, ...definedOnly(toOrder(filter)) };
  let look = (): void => undefined;
  let isReported = false;
  const report = (message: string): void => {
    if (!isReported) bus.emit(BusTopic.WARNING, { source: 'hosts', message });
    isReported = true;
  };

  const source: LiveSource = (receive) => {
    const stopping = new AbortController();
    const followed = new Set<string>();
    const follow = async (hostId: string): Promise<void> => {
      followed.add(hostId);
      const reply = await hosts.follow(hostId, order, {
        signal: stopping.signal,
        receive(value) {
          const live = parseLiveEvent(value);
          if (live !== null) receive(live);
        },
      });
      followed.delete(hostId);
      if (reply.ok || stopping.signal.aborted || !(await hosts.isAlive(hostId).catch(() => false))) return;
      report(`what is not recorded of ${hostId} is missing here: ${reply.message}`);
    };
    look = () => {
      for (const hostId of hostsNow(findHosts))
        if (hostId !== own && !followed.has(hostId)) void follow(hostId);
    };
    let cancelLook = (): void => undefined;
    const lookAgain = (): void => {
      look();
      cancelLook = clock.setTimer(LOOK_MS, lookAgain);
    };
    lookAgain();
    return () => {
      cancelLook();
      stopping.abort();
      look = () => undefined;
    };
  };
  return { source, look: () => look() };
}

/** A state folder that is gone, or a ledger that cannot be read, is the reader's error, and it reports it. */
function hostsNow(findHosts: () => readonly string[]): readonly string[] {
  try {
    return findHosts();
  } catch {
    return [];
  }
}

function toOrder({ runs, types }: EventFilter): { runs?: string[]; types?: string[] } {
  return definedOnly({
    runs: runs === undefined || runs.length > MAX_FOLLOWED_RUNS ? undefined : [...runs],
    types: types === undefined ? undefined : [...types],
  });
}
