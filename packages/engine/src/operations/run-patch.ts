/** The patch of a run, and how it is applied to the user's files. */
import { PatchChoiceError, slicePatch, type PatchChoice } from '@caisson/ground';
import { BusTopic, CaissonError, isEnding } from '@caisson/protocol';
import { findWorkAttempt } from '../admission/index.ts';
import { findChangesOutsideScope, findOwnControls } from '../attempt/index.ts';
import type { Engine } from '../engine.ts';
import { IncompleteError, TamperedError } from '../evidence/index.ts';
import type { ApplyResult as AppliedPatch } from '../workspace/index.ts';
import { markApplied } from './run-applied.ts';
import { findUnfit, type Unfit } from './unfit-work.ts';
import { requireRemembered } from './run-forgotten.ts';
import { findUnpatched, type UnpatchedWork } from './unpatched-work.ts';

/** There is nothing to show or apply. */
export class NoPatchError extends CaissonError {
  readonly code = 'NO_PATCH';
}

/** A file or hunk that the patch does not have was asked for. */
export class NoSuchPartError extends CaissonError {
  readonly code = 'USAGE';
}

/**
 * Empty where the run changed nothing. Throws NoPatchError where it did, or may have, and there is no patch of it;
 * TamperedError or IncompleteError where the patch cannot be read. Each says where the work is.
 */
export async function readPatch(engine: Engine, runId: string): Promise<Buffer> {
  const ref = await findPatch(engine, runId);
  return ref === null ? Buffer.alloc(0) : engine.store.getBlob(ref);
}

/** The digest of that; null where the run changed nothing. */
export async function findPatch(engine: Engine, runId: string): Promise<string | null> {
  const ended = requireEnded(engine, runId);
  requireRemembered(engine, runId);
  const unpatched = await findUnpatched(engine, runId);
  if (unpatched !== null) throw errorOf(runId, unpatched);
  const ending = engine.ledger.read({ runId, types: [ended] }).at(-1);
  if (ending === undefined) {
    throw new NoPatchError(`${runId} has ended, and this version of Caisson cannot read how`, {
      remedy: 'Use the version that ran it.',
    });
  }
  return ending.data.patchRef ?? null;
}

/** Its ending. */
export function requireEnded({ ledger }: Pick<Engine, 'ledger'>, runId: string) {
  const { ending } = ledger.run(runId) ?? {};
  if (ending !== undefined) return ending;
  throw new NoPatchError(`${runId} has not ended, so there is no patch yet`, {
    remedy: `Follow it: caisson logs ${runId} -f`,
  });
}

function errorOf(runId: string, { problem, why, where, remedy }: UnpatchedWork): Error {
  if (problem === undefined)
    return new NoPatchError(`the work of ${runId} is in no patch, but in ${where}: ${why}`, { remedy });
  const message = `${why}. The work of ${runId} is in ${where}`;
  return problem === 'damaged'
    ? new TamperedError(message, { remedy })
    : new IncompleteError(message, { remedy });
}

export interface ApplyChoice {
  /** Only these files of the patch, or hunks of them; both as the patch has them. */
  readonly only?: readonly PatchChoice[] | undefined;
  /** Write conflict markers instead of changing nothing. */
  readonly leaveConflicts?: boolean | undefined;
  /** Merge also into files with uncommitted changes. */
  readonly force?: boolean | undefined;
  /** Apply what Caisson otherwise asks about: CI workflows, install scripts and the like. */
  readonly allowRisky?: boolean | undefined;
  /** Bring in files that the task's scope does not cover. */
  readonly allowOutsideScope?: boolean | undefined;
  /** Apply work that did not pass its check. */
  readonly evenIfCheckFailed?: boolean | undefined;
  /** The files here are meant, although the run worked on a remote repository. */
  readonly here?: boolean | undefined;
}

export type ApplyResult =
  | AppliedPatch
  | Unfit
  /** Nothing was changed: the task was not about these files. */
  | { readonly kind: 'outside-scope'; readonly files: readonly string[] };

export async function applyRun(
  engine: Engine,
  runId: string,
  options: ApplyChoice = {},
): Promise<ApplyResult> {
  const whole = await readPatch(engine, runId);
  if (whole.length === 0) return { kind: 'applied', files: [] };
  const patch = choosePart(whole, options.only);
  const events = await engine.ledger.readRun(runId);
  const ending = events.findLast((event) => isEnding(event));
  const ended = events.filter((event) => event.type === 'attempt.ended');
  const attempt = ending === undefined ? undefined : findWorkAttempt(ended, ending);
  const launches = events.filter((event) => event.type === 'attempt.launched');
  const launched = launches.findLast((event) => event.attempt === attempt) ?? launches.at(-1);
  const workspace = launched?.data.workspace;
  if (workspace?.kind === 'in-place') return { kind: 'applied', files: [], already: 'in-place' };
  const unfit = await findUnfit(engine, runId, options);
  if (unfit !== null) return unfit;
  const outside =
    options.allowOutsideScope === true
      ? []
      : await findChangesOutsideScope(engine.rooms, events, ending?.data ?? {}, {
          forBranch: false,
          ...(patch === whole ? {} : { patch }),
        });
  if (outside.length > 0) return { kind: 'outside-scope', files: outside };
  const outcome = await engine.workspaces.apply({
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
  const warn = (message: string) => engine.bus.emit(BusTopic.WARNING, { source: 'apply', message });
  await recordTaken(engine, runId, outcome, patch.length < whole.length).catch((error: unknown) =>
    warn((error as Error).message),
  );
  return outcome;
}

/** The sealed patch is cut here: what is applied is always a part of it. */
function choosePart(patch: Buffer, only: ApplyChoice['only']): Buffer {
  if (only === undefined) return patch;
  try {
    return slicePatch(patch, only);
  } catch (error) {
    if (!(error instanceof PatchChoiceError)) throw error;
    throw new NoSuchPartError(error.message, {
      remedy: 'caisson diff shows the files and hunks of the patch.',
    });
  }
}

async function recordTaken(
  engine: Engine,
  runId: string,
  outcome: AppliedPatch,
  isPartial: boolean,
): Promise<void> {
  const hasConflicts = outcome.kind === 'conflicts' && outcome.areMarkersLeft;
  if (outcome.kind !== 'applied' && !hasConflicts) return;
  await markApplied(engine, runId, {
    files: outcome.files.length,
    hasConflicts,
    ...(isPartial ? { isPartial } : {}),
  });
}
