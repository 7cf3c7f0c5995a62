/** The patch of a run, and how it is applied to the user's files. */
import { BusTopic, CaissonError } from '@caisson/protocol';
import { findOwnControls } from '../dispatch/index.ts';
import type { Engine } from '../engine.ts';
import type { ApplyResult } from '../workspace/index.ts';
import { requireRemembered } from './run-forgotten.ts';
import { findUnpatched } from './unpatched-work.ts';

/** There is nothing to show or apply. */
export class NoPatchError extends CaissonError {
  readonly code = 'NO_PATCH';
}

/** Empty if the run changed nothing. Throws NoPatchError if it did, or may have, and there is no patch of it. */
export async function readPatch(engine: Engine, runId: string): Promise<Buffer> {
  const row = engine.ledger.run(runId);
  if (row?.ending === undefined) {
    throw new NoPatchError(`${runId} has not ended, so there is no patch yet`, {
      remedy: `Follow it: caisson logs ${runId} -f`,
    });
  }
  requireRemembered(engine, runId);
  const ending = engine.ledger.read({ runId, types: [row.ending] }).at(-1);
  const ref = ending?.data.patchRef;
  if (ref !== undefined) return engine.store.getBlob(ref);
  const unpatched = await findUnpatched(engine, runId);
  if (unpatched === null) return Buffer.alloc(0);
  const { why, where, remedy } = unpatched;
  throw new NoPatchError(`the work of ${runId} is in no patch, but in ${where}: ${why}`, { remedy });
}

export interface ApplyChoice {
  /** Write conflict markers instead of changing nothing. */
  readonly leaveConflicts?: boolean | undefined;
  /** Merge also into files with uncommitted changes. */
  readonly force?: boolean | undefined;
  /** Apply what Caisson otherwise asks about: CI workflows, install scripts and the like. */
  readonly allowRisky?: boolean | undefined;
}

export async function applyRun(
  engine: Engine,
  runId: string,
  options: ApplyChoice = {},
): Promise<ApplyResult> {
  const patch = await readPatch(engine, runId);
  if (patch.length === 0) return { kind: 'applied', files: [] };
  const launched = engine.ledger.read({ runId, types: ['attempt.launched'] }).at(-1);
  const workspace = launched?.data.workspace;
  if (workspace?.kind === 'in-place') return { kind: 'applied', files: [], already: 'in-place' };
  return engine.workspaces.apply({
    projectRoot: engine.config.projectRoot,
    stateDir: engine.config.stateDir,
    patch,
    baseCommit: workspace?.baseCommit ?? null,
    threeWay: true,
    leaveConflicts: options.leaveConflicts ?? false,
    force: options.force ?? false,
    allowRisky: options.allowRisky ?? false,
    controls: findOwnControls(engine.rooms.settings),
    onNotice: (message) => engine.bus.emit(BusTopic.WARNING, { source: 'apply', message }),
  });
}
