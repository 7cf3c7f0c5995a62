/** Work that is applied only if who applies it says so: it did not pass its check, or is for another repository. */
import type { Engine } from '../engine.ts';
import { findCheckPassed } from './find-check-passed.ts';
import { showRun } from './show-run.ts';

/** Nothing was changed. */
export type Unfit =
  | { readonly kind: 'check-failed'; readonly files: readonly string[] }
  | { readonly kind: 'other-repository'; readonly files: readonly string[]; readonly remote: string };

export interface FitChoice {
  readonly evenIfCheckFailed?: boolean | undefined;
  readonly here?: boolean | undefined;
}

export async function findUnfit(
  engine: Engine,
  runId: string,
  { evenIfCheckFailed, here }: FitChoice,
): Promise<Unfit | null> {
  const { repository, result } = await showRun(engine, runId);
  if (repository !== undefined && here !== true)
    return { kind: 'other-repository', files: [], remote: repository.remote };
  if (evenIfCheckFailed === true) return null;
  const row = engine.ledger.run(runId);
  // The ending says it, too, where the result cannot be read.
  const passed = result?.verify?.passed ?? (row === null ? undefined : findCheckPassed(engine.ledger, row));
  return passed === false ? { kind: 'check-failed', files: [] } : null;
}
