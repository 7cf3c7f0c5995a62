import type { BlobProblem, Store } from './contract.ts';
import { BlobMissingError, StoreAccessError, StoreCorruptError } from './errors.ts';

/** What is wrong with one blob; null when it is sound. With `isQuick` it is only looked for, not read. */
export async function inspectBlob(
  store: Pick<Store, 'hasBlob' | 'openBlob'>,
  digest: string,
  { isQuick = false } = {},
): Promise<BlobProblem | null> {
  try {
    if (isQuick) return (await store.hasBlob(digest)) ? null : describeMissing(digest);
    for await (const _chunk of await store.openBlob(digest)); // the stream proves the digest
    return null;
  } catch (error) {
    return toProblem(digest, error);
  }
}

/** The problem that an error of the store stands for; every other error is thrown. */
export function toProblem(digest: string, error: unknown): BlobProblem {
  if (error instanceof BlobMissingError) return describeMissing(digest);
  if (error instanceof StoreCorruptError) return { digest, kind: 'damaged', detail: error.message };
  if (error instanceof StoreAccessError) return { digest, kind: 'unreadable', detail: error.message };
  throw error;
}

/** For whoever leaves the problem itself to somebody else. */
export function throwUnlessProblem(error: unknown): void {
  toProblem('', error);
}

function describeMissing(digest: string): BlobProblem {
  return { digest, kind: 'missing', detail: `the store does not hold ${digest}` };
}
