/** The store's part of a garbage collection: damage is named, and does not stop the rest. */
import { BusTopic } from '@caisson/protocol';
import type { Engine } from '../engine.ts';
import { HeldRoots, type BlobProblem } from '../store/index.ts';
import { startGrace, surveyBlobs, type SurveyOptions } from './blob-roots.ts';
import { findLoss, warnOfLoss } from './ledger-loss.ts';

/** How many problems are reported one by one. */
const MAX_NAMED = 5;

export interface SweptStore {
  readonly blobs: number;
  readonly bytes: number;
  /** Blobs and packs that runs or the registry need, and that are missing, damaged or unreadable. */
  readonly problems: readonly BlobProblem[];
}

export async function sweepStore(
  engine: Engine,
  graceMs: number,
  options: Pick<SurveyOptions, 'onProgress'> = {},
): Promise<SweptStore> {
  const findGrace = startGrace(engine);
  const roots = await HeldRoots.list(engine.store);
  const { bundles, isComplete } = await surveyBlobs(engine, roots, options);
  const needed = { has: (digest: string) => roots.isNeeded(digest) };
  const lost = findLoss(engine);
  const isKept = lost !== null || !isComplete;
  const ageMs = isKept ? Infinity : Math.max(graceMs, findGrace());
  const swept = await engine.store.gc(roots, { graceMs: ageMs, bundles, needed });
  const missing = swept.missing.map((digest): BlobProblem => ({
    digest,
    kind: 'missing',
    detail: `${digest} is missing`,
  }));
  const problems = [...swept.problems, ...missing];
  if (lost !== null) warnOfLoss(engine, lost);
  else if (!isComplete)
    warn(engine, 'no blob was removed: a result is damaged, and what it names is unknown');
  for (const { detail } of problems.slice(0, MAX_NAMED)) warn(engine, detail);
  if (problems.length > 0)
    warn(engine, `${problems.length} blobs cannot be used; caisson doctor names the runs that need them`);
  return { blobs: swept.removedBlobs, bytes: swept.removedBytes, problems };
}

function warn({ bus }: Engine, message: string): void {
  bus.emit(BusTopic.WARNING, { source: 'store', message });
}
