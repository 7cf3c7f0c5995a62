/** Which blobs somebody may need again. */
import type { Engine } from '../engine.ts';
import type { StoredEvent } from '../ledger/index.ts';
import { BlobMissingError } from '../store/index.ts';

/** Admission stores what a name stands for just before the run is accepted. */
const START_MARGIN_MS = 60_000;

type Rooms = Pick<Engine, 'ledger' | 'store' | 'registry' | 'clock'>;

/** What an open run has put into the store is named by an event only at its end: nothing younger than it is removed. */
export function ageOfOldestOpenRun({ ledger, clock }: Rooms): number {
  const [oldest] = ledger.runs({ status: ['queued', 'running'] });
  if (oldest === undefined) return 0;
  const ageMs = clock.wallMs() - Date.parse(oldest.acceptedAt);
  // The clock was set back since: no file's time says any more that it is older than the run.
  return ageMs < 0 ? Infinity : ageMs + START_MARGIN_MS;
}

/**
 * Everything a run that is not forgotten may need again: what its events name (request, patch, result, manifest,
 * envelope, resolved names), what its result names (reply, logs, outputs), and every version in the registry.
 */
export async function listRoots(rooms: Rooms): Promise<Set<string>> {
  const roots = new Set<string>(await rooms.registry.listRoots());
  const forgotten = new Set(rooms.ledger.kv.list('forgotten').map((entry) => entry.key));
  for (const event of rooms.ledger.read()) {
    if (event.runId !== null && forgotten.has(event.runId)) continue;
    await addDigests(rooms, roots, event);
  }
  for (const entry of rooms.ledger.kv.list('roots')) roots.add(entry.key);
  return roots;
}

/** What one run put in itself: its request, its result, all that came out, and its evidence. */
export async function listOwnBlobs(rooms: Rooms, runId: string): Promise<Set<string>> {
  const own = new Set<string>();
  for (const event of rooms.ledger.read({ runId })) {
    const { resolved: _names, ...data } = event.data;
    await addDigests(rooms, own, { data });
  }
  return own;
}

async function addDigests(
  rooms: Rooms,
  digests: Set<string>,
  { data }: Pick<StoredEvent, 'data'>,
): Promise<void> {
  // A seal names the one before it, which belongs to another run, and is that run's to keep or to forget.
  const { chain: _otherSeal, ...own } = data;
  const { resultRef } = own;
  const result = typeof resultRef === 'string' ? await readIfThere(rooms, resultRef) : '';
  for (const text of [JSON.stringify(own), result])
    for (const [digest] of text.matchAll(/\b[0-9a-f]{64}\b/g)) digests.add(digest);
}

/** A result that is damaged stops the collection: what it names would be removed with it. */
async function readIfThere({ store }: Rooms, digest: string): Promise<string> {
  try {
    return (await store.getBlob(digest)).toString('utf8');
  } catch (error) {
    if (error instanceof BlobMissingError) return '';
    throw error;
  }
}
