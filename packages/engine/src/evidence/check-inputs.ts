/** What went in by hash is still what it was: the request, and what its names were resolved to. */
import type { ResolvedNames } from '@caisson/protocol';
import type * as z from 'zod/mini';

import type { StoredEvent } from '../ledger/index.ts';
import type { Store } from '../store/index.ts';

/** Throws what the store says about the first thing that is damaged or gone; null when there is nothing to check. */
export async function checkInputs(store: Store, events: readonly StoredEvent[]): Promise<string | null> {
  const accepted = events.find((event) => event.type === 'dispatch.accepted')?.data;
  const { requestRef } = accepted ?? {};
  const resolved = accepted?.['resolved'] as Partial<z.infer<typeof ResolvedNames>> | undefined;
  const definitions = [
    ...(typeof requestRef === 'string' ? [requestRef] : []),
    ...[resolved?.agent, resolved?.pipeline, ...(resolved?.env ?? [])].flatMap((item) => item?.hash ?? []),
  ];
  for (const digest of definitions) await store.getBlob(digest);
  let files = 0;
  for (const capability of resolved?.capabilities ?? []) files += await checkBundle(store, capability.hash);
  if (definitions.length + files === 0) return null;
  return `${definitions.length} definitions and ${files} files of capabilities`;
}

async function checkBundle(store: Store, hash: string): Promise<number> {
  const { entries } = await store.readManifest(hash);
  for (const entry of entries) if (entry.kind === 'file') await store.getBlob(entry.digest);
  return entries.length;
}
