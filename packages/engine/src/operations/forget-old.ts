/** The contents of every run that ended long enough ago, deleted on a person's request; the only copy of work stays. */
import { basename } from 'node:path';
import { isEnding } from '@caisson/protocol';
import type { Engine } from '../engine.ts';
import { describeRun } from '../dispatch/index.ts';
import type { RunRow } from '../ledger/index.ts';
import { forgetContents } from './forget-run.ts';
import { listForgotten } from './run-forgotten.ts';

export interface ForgottenRuns {
  readonly forgotten: readonly string[];
  /** Runs that were kept: their work, or an output, is nowhere else. */
  readonly unapplied: readonly string[];
}

export interface ForgetOptions {
  readonly olderThanMs: number;
  /** Also runs whose work is nowhere else. */
  readonly withWork: boolean;
  /** Files and folders that are the only copy of something, whatever `withWork` says; their names begin with the run's. */
  readonly kept: readonly string[];
}

export async function forgetOld(engine: Engine, options: ForgetOptions): Promise<ForgottenRuns> {
  const [gone, needed] = [listForgotten(engine), findNeeded(engine)];
  const held = new Set(options.kept.map(runOf));
  const found: { forgotten: string[]; unapplied: string[] } = { forgotten: [], unapplied: [] };
  for (const row of engine.ledger.runs()) {
    const { runId, endedAt } = row;
    if (endedAt === undefined || gone.has(runId) || needed.has(runId)) continue;
    if (engine.clock.wallMs() - Date.parse(endedAt) < options.olderThanMs) continue;
    if (held.has(runId) || (!options.withWork && (await isOnlyCopy(engine, row)))) {
      found.unapplied.push(runId);
      continue;
    }
    await forgetContents(engine, row);
    found.forgotten.push(runId);
  }
  return found;
}

/** Deletes what a forget that was killed half-way left: refs, and files whose names begin with the run's. */
export async function finishForgotten(engine: Engine, kept: readonly string[]): Promise<void> {
  const forgotten = listForgotten(engine);
  if (forgotten.size === 0) return;
  const { refs } = await engine.workspaces.inspect(engine.config);
  const left = new Set([...refs.map(({ runId }) => runId), ...kept.map(runOf)]);
  for (const runId of left) {
    const row = forgotten.has(runId) ? engine.ledger.run(runId) : null;
    if (row !== null) await forgetContents(engine, row);
  }
}

/** Runs that one under way names: it continues them, or waits for them. */
function findNeeded({ ledger }: Engine): ReadonlySet<string> {
  const open = ledger.runs({ status: ['queued', 'running'] });
  const named = open.map(({ runId }) => JSON.stringify(ledger.read({ runId, types: ['dispatch.accepted'] })));
  return new Set(named.join().match(/run_[0-9a-z]{20}/g));
}

const runOf = (path: string): string => basename(path).split('.', 1)[0] ?? '';

/** In any doubt it is: a result that cannot be read may name outputs. */
async function isOnlyCopy(engine: Engine, { runId, status }: RunRow): Promise<boolean> {
  if (status === 'waiting') return true; // its question is open
  const events = engine.ledger.read({ runId });
  const ending = events.findLast((event) => isEnding(event));
  if (ending === undefined) return true;
  const { patchRef, checkpoint, branch } = ending.data;
  if (checkpoint?.heldBack !== undefined || checkpoint?.beside !== undefined) return true;
  const run = await describeRun(engine.rooms, runId).catch(() => null);
  if (run === null || (run.result?.outputs ?? []).length > 0) return true;
  const isChanged = patchRef !== undefined || run.leftWork === true;
  const launched = events.findLast((event) => event.type === 'attempt.launched');
  const isElsewhere =
    launched?.data.workspace.kind === 'in-place' ||
    branch?.status === 'created' ||
    events.some((event) => event.type === 'run.applied' && !event.data.hasConflicts);
  return isChanged && !isElsewhere;
}
