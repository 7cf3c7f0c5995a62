/** The contents of every run that ended long enough ago, deleted on a person's request; the only copy of work stays. */
import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { explainError, ifErrno } from '@caisson/ground';
import { BusTopic, definedOnly } from '@caisson/protocol';
import type { Engine } from '../engine.ts';
import type { RunRow } from '../ledger/index.ts';
import { forgetContents } from './forget-run.ts';
import { findOnlyCopy, type OnlyCopy } from './only-copy.ts';
import { listForgotten } from './run-forgotten.ts';

export interface ForgottenRuns {
  readonly forgotten: readonly string[];
  /** Runs that were kept: their work, or an output, is nowhere else. */
  readonly unapplied: readonly string[];
  /** Why each of them was kept. */
  readonly keptFor: Readonly<Record<string, KeptFor>>;
}

export interface KeptFor {
  /** `unclean`: its files are still where it worked. `held-back`: files of it are in no checkpoint. */
  readonly why: OnlyCopy | 'unclean' | 'held-back';
  /** A run that continued it and was applied; whether that has all of its work is not known. */
  readonly continuedBy?: string;
}

/** Runs that have ended. Listed before the trash: what is cleaned up later counts as unclean here. */
export interface EndedRuns {
  readonly rows: readonly RunRow[];
  /** Their files are still in their workspace, or a host is just moving them. */
  readonly unclean: ReadonlySet<string>;
}

export async function listEnded({ ledger, config }: Engine): Promise<EndedRuns> {
  const rows = ledger.runs().filter(({ endedAt }) => endedAt !== undefined);
  const slots = ledger.leases.listSlots().map(({ runId }) => runId);
  const folders = await readdir(join(config.stateDir, 'worktrees')).catch(ifErrno([], 'ENOENT'));
  return { rows, unclean: new Set([...slots, ...folders.map(runOf)]) };
}

interface ForgetOptions {
  readonly ended: EndedRuns;
  readonly olderThanMs: number;
  /** Also runs whose work is nowhere else. */
  readonly withWork: boolean;
  /** Files and folders that are the only copy of something, whatever `withWork` says; their names begin with the run's. */
  readonly kept: readonly string[];
}

export async function forgetOld(engine: Engine, options: ForgetOptions): Promise<ForgottenRuns> {
  const [gone, needed] = [listForgotten(engine), findNeeded(engine)];
  const { rows, unclean } = options.ended;
  const heldBack = new Set(options.kept.map(runOf));
  const continued = listContinued(rows);
  const forgotten: string[] = [];
  const keptFor: Record<string, KeptFor> = {};
  for (const row of rows) {
    const { runId, endedAt = '' } = row;
    if (gone.has(runId) || needed.has(runId)) continue;
    if (engine.clock.wallMs() - Date.parse(endedAt) < options.olderThanMs) continue;
    const place = unclean.has(runId) ? 'unclean' : heldBack.has(runId) ? 'held-back' : null;
    const why = place ?? (options.withWork ? null : await findOnlyCopy(engine, row));
    if (why !== null) keptFor[runId] = { why, ...definedOnly({ continuedBy: continued.get(runId) }) };
    else if (await orWarn(engine, runId, () => forgetContents(engine, row))) forgotten.push(runId);
  }
  return { forgotten, unapplied: Object.keys(keptFor), keptFor };
}

/** The last applied run that continued each, also by way of others. */
function listContinued(rows: readonly RunRow[]): ReadonlyMap<string, string> {
  const earlier = new Map(rows.map(({ runId, continues }) => [runId, continues]));
  const found = new Map<string, string>();
  for (const { runId, appliedAt } of rows)
    if (appliedAt !== undefined)
      for (let run = earlier.get(runId); run !== undefined; run = earlier.get(run)) found.set(run, runId);
  return found;
}

/** Deletes the refs that a forget which was killed half-way left. What is kept of files is never deleted here. */
export async function finishForgotten(engine: Engine): Promise<void> {
  const forgotten = listForgotten(engine);
  if (forgotten.size === 0) return;
  const { projectRoot, stateDir } = engine.config;
  const { refs } = await engine.workspaces.inspect(engine.config);
  const left = new Set(refs.map(({ runId }) => runId).filter((runId) => forgotten.has(runId)));
  for (const runId of left)
    await orWarn(engine, runId, () =>
      engine.workspaces.forget({ projectRoot, stateDir, runId, onlyRefs: true }),
    );
}

/** One run that cannot be forgotten keeps no other from it; the next gc tries again. */
async function orWarn({ bus }: Engine, runId: string, forget: () => Promise<void>): Promise<boolean> {
  try {
    await forget();
    return true;
  } catch (error) {
    const message = `not all of ${runId} could be deleted: ${explainError(error)}`;
    bus.emit(BusTopic.WARNING, { source: 'sweep', message });
    return false;
  }
}

/** Runs that one under way names: it continues them, or waits for them. */
function findNeeded({ ledger }: Engine): ReadonlySet<string> {
  const open = ledger.runs({ status: ['queued', 'running'] });
  const named = open.map(({ runId }) => JSON.stringify(ledger.read({ runId, types: ['dispatch.accepted'] })));
  return new Set(named.join().match(/run_[0-9a-z]{20}/g));
}

const runOf = (path: string): string => basename(path).split('.', 1)[0] ?? '';
