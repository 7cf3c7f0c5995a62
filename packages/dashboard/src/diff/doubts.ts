/** What a run itself says against taking its work. A person is asked about each before anything is sent. */
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
