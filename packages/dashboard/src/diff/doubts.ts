/** What a run itself says against taking its work. The host refuses it until a person says so. */
import type { DispatchResult } from '@caisson/protocol';

export type Doubt =
  | { readonly kind: 'check-failed' }
  | { readonly kind: 'other-repository'; readonly remote: string };

export function findDoubts({ result, repository }: Pick<DispatchResult, 'result' | 'repository'>): Doubt[] {
  const doubts: Doubt[] = [];
  if (result?.verify?.passed === false) doubts.push({ kind: 'check-failed' });
  if (repository !== undefined) doubts.push({ kind: 'other-repository', remote: repository.remote });
  return doubts;
}
