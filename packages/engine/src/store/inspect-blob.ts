import type { BlobProblem, Store } from './contract.ts';
import { BlobMissingError, StoreAccessError, StoreCorruptError } from './errors.ts';

/**
 * What is wrong with one blob; null when it is sound. With `isQuick` only its presence is checked, its content is not
 * read.
 */
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

/** The problem that an error of the store represents; every other error is thrown. */
export function toProblem(digest: string, error: unknown): BlobProblem {
  if (error instanceof BlobMissingError) return describeMissing(digest);
  if (error instanceof StoreCorruptError)
    return { digest, kind: 'damaged', detail: error.message, file: error.file };
  if (error instanceof StoreAccessError) return { digest, kind: 'unreadable', detail: error.message };
  throw error;
}

/** For callers that do not handle the problem themselves. */
export function throwUnlessProblem(error: unknown): void {
  toProblem('', error);
}

function describeMissing(digest: string): BlobProblem {
  return { digest, kind: 'missing', detail: `the store does not have ${digest}` };
}
