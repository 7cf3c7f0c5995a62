/** What the events of a run say of its work. */
import type { StoredOf } from '../ledger/index.ts';

export interface NamedWork {
  readonly patchRef?: unknown;
  readonly patchMissing?: unknown;
  readonly checkpoint?: { readonly ref: string } | null | undefined;
}

/** The attempt whose work an ending names: an earlier one where the last left none. */
export function findWorkAttempt(
  ended: readonly Pick<StoredOf<'attempt.ended'>, 'attempt' | 'data'>[],
  ending: { readonly attempt: number; readonly data: NamedWork },
): number {
  const named = describeWork(ending.data);
  const owner = ended.findLast(({ data }) => describeWork(data) === named);
  return named === describeWork({}) ? ending.attempt : (owner?.attempt ?? ending.attempt);
}

function describeWork({ patchRef, patchMissing, checkpoint }: NamedWork): string {
  return JSON.stringify([patchRef, patchMissing, checkpoint?.ref]);
}

/** What an ending says of the work. */
export interface RecordedWork extends NamedWork {
  readonly resultRef?: unknown;
}

/** A result without a patch means that its worker checked, and that there was nothing. */
export function mayLackPatch({ patchRef, patchMissing, resultRef }: RecordedWork): boolean {
  return patchRef === undefined && (patchMissing !== undefined || resultRef === undefined);
}
