/** Checks that the inputs still have their hashes: the request, and what its names were resolved to. */
import type { ResolvedNames } from '@caisson/protocol';
import type * as z from 'zod/mini';

import type { StoredEvent } from '../ledger/index.ts';
import type { Store } from '../store/index.ts';
import { isAbsence } from './check-report.ts';

/**
 * Throws the store's error about the first damaged, else missing, input; null when there is nothing to check.
 */
export async function checkInputs(store: Store, events: readonly StoredEvent[]): Promise<string | null> {
  const accepted = events.find((event) => event.type === 'dispatch.accepted')?.data;
  const { requestRef } = accepted ?? {};
  const resolved = accepted?.['resolved'] as Partial<z.infer<typeof ResolvedNames>> | undefined;
  const definitions = [
    ...(typeof requestRef === 'string' ? [requestRef] : []),
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
  let files = 0;
  for (const capability of resolved?.capabilities ?? []) {
    const entries = (await look(store.readManifest(capability.hash)))?.entries ?? [];
    for (const entry of entries) if (entry.kind === 'file') await look(store.getBlob(entry.digest));
    files += entries.length;
  }
  if (absences.length > 0) throw absences[0];
  if (definitions.length + files === 0) return null;
  return `${definitions.length} definitions and ${files} files of capabilities`;
}
