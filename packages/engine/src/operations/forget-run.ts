/**
 * Deletes a run's contents: output, patch, result, evidence, checkpoint, and their blobs unless another run has the
 * same. The ledger, which never changes, still has its events.
 */
import { rm } from 'node:fs/promises';
import type { Engine } from '../engine.ts';
import { attemptPaths } from '../attempt/index.ts';
import type { RunRow } from '../ledger/index.ts';
import { HeldRoots, type DigestSet } from '../store/index.ts';
import { listOwnBlobs, startGrace, surveyBlobs } from './blob-roots.ts';
import { forgetBranch } from './branches.ts';
import { RunNotEndedError } from './continue-run.ts';
import { findLoss, warnOfLoss } from './ledger-loss.ts';
import { markForgotten } from './run-forgotten.ts';
import { backgroundPaths } from './start-background.ts';

export async function forgetRun(engine: Engine, runId: string): Promise<void> {
  const row = engine.ledger.run(runId);
  if (row?.ending === undefined)
    throw new RunNotEndedError(`${runId} has not ended`, {
      remedy: `Stop it first: caisson cancel ${runId}`,
    });
  const own = await listOwnBlobs(engine, runId); // while its result can still be read
  await forgetContents(engine, row);
  await removeBlobs(engine, own);
}

/** All but the blobs, which a garbage collection removes. */
export async function forgetContents(engine: Engine, { runId, attempt: attempts }: RunRow): Promise<void> {
  await markForgotten(engine, runId);
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    const paths = attemptPaths(engine.config.stateDir, runId, attempt);
    for (const path of [
      paths.spool,
      paths.result,
      paths.events,
      paths.captures,
      paths.mailbox,
      paths.session,
    ]) {
      await rm(path, { recursive: true, force: true });
    }
  }
  for (const path of Object.values(backgroundPaths(engine.config.stateDir, runId)))
    await rm(path, { force: true });
  await forgetBranch(engine, runId);
  await engine.workspaces.forget({
    projectRoot: engine.config.projectRoot,
    stateDir: engine.config.stateDir,
    runId,
  });
}

/** While other runs are under way, blobs as young as they are may be theirs too, and are left to the next gc. */
async function removeBlobs(engine: Engine, own: DigestSet): Promise<void> {
  const lost = findLoss(engine); // a lost run may have the same
  if (lost !== null) {
    warnOfLoss(engine, lost);
    return;
  }
  const findGrace = startGrace(engine);
  const roots = await HeldRoots.list(engine.store);
  await surveyBlobs(engine, roots);
  // Everything else stays, so what a damaged bundle reaches does not matter. What is missing is of no interest here.
  const kept = {
    has: (digest: string) => roots.has(digest) || !own.has(digest),
    [Symbol.iterator]: () => [].values(),
  };
  await engine.store.gc(kept, { graceMs: findGrace(), bundles: new Set() });
}
