/** Checks that the inputs still have their hashes: the request, what its names were resolved to, and its files. */
import type { StoredEvent } from '../ledger/index.ts';
import type { Store } from '../store/index.ts';
import { isAbsence } from './check-report.ts';

/** Throws the store's error about the first damaged, else missing, input; null when there is nothing to check. */
export async function checkInputs(store: Store, events: readonly StoredEvent[]): Promise<string | null> {
  const accepted = events.find((event) => event.type === 'dispatch.accepted')?.data;
  const { requestRef, resolved } = accepted ?? {};
  const definitions = [
    ...(requestRef === undefined ? [] : [requestRef]),
    ...[resolved?.agent, resolved?.pipeline, ...(resolved?.env ?? [])].flatMap((item) => item?.hash ?? []),
  ];
  const absences: unknown[] = [];
  const look = async <T>(read: Promise<T>): Promise<T | null> => {
    try {
      return await read;
    } catch (cause) {
      if (!isAbsence(cause)) throw cause;
      absences.push(cause);
      return null;
    }
  };
  for (const digest of definitions) await look(store.getBlob(digest));
  const stored = (accepted?.inputs ?? []).filter(({ isStored }) => isStored === true);
  for (const { sha256 } of stored) await look(drain(store, sha256));
  let files = stored.length;
  for (const capability of resolved?.capabilities ?? []) {
    const entries = (await look(store.readManifest(capability.hash)))?.entries ?? [];
    for (const entry of entries) if (entry.kind === 'file') await look(store.getBlob(entry.digest));
    files += entries.length;
  }
  if (absences.length > 0) throw absences[0];
  if (definitions.length + files === 0) return null;
  return `${definitions.length} definitions and ${files} files of inputs and capabilities`;
}

/** An input may be large, so it is read piece by piece; the store compares its digest. */
async function drain(store: Store, digest: string): Promise<void> {
  for await (const _chunk of await store.openBlob(digest)) continue;
}
