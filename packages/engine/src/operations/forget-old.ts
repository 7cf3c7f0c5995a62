/** The contents of every run that ended long enough ago, deleted on a person's request; the only copy of work stays. */
import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { explainError, ifErrno } from '@caisson/ground';
import { BusTopic, definedOnly } from '@caisson/protocol';
import type { Engine } from '../engine.ts';
import type { RunRow } from '../ledger/index.ts';
import { forgetContents } from './forget-run.ts';
import { findOnlyCopy, type OnlyCopy } from './only-copy.ts';
import { isForgotten } from './run-forgotten.ts';

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

/** Which runs have ended. Asked before the trash: what is cleaned up later counts as unclean here. */
export interface EndedRuns {
  readonly lastOffset: number;
  /** Of the runs that were accepted by then, those that were under way. */
  readonly open: ReadonlySet<string>;
  /** Their files are still in their workspace, or a host is just moving them. */
  readonly unclean: ReadonlySet<string>;
}

export async function noteEnded({ ledger, config }: Engine): Promise<EndedRuns> {
  const lastOffset = ledger.lastOffset();
  const open = new Set(ledger.runs({ status: ['queued', 'running'] }).map(({ runId }) => runId));
  const slots = ledger.leases.listSlots().map(({ runId }) => runId);
  const folders = await readdir(join(config.stateDir, 'worktrees')).catch(ifErrno([], 'ENOENT'));
  return { lastOffset, open, unclean: new Set([...slots, ...folders.map(runOf)]) };
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
  const needed = findNeeded(engine);
  const { lastOffset, open, unclean } = options.ended;
  const heldBack = new Set(options.kept.map(runOf));
  const forgotten: string[] = [];
  const keptFor: Record<string, KeptFor> = {};
  for (const row of engine.ledger.walkRuns()) {
    const { runId, endedAt } = row;
    if (row.acceptedOffset > lastOffset) break;
    if (endedAt === undefined || open.has(runId)) continue;
    if (isForgotten(engine, runId) || needed.has(runId)) continue;
    if (engine.clock.wallMs() - Date.parse(endedAt) < options.olderThanMs) continue;
    const place = unclean.has(runId) ? 'unclean' : heldBack.has(runId) ? 'held-back' : null;
    const why = place ?? (options.withWork ? null : await findOnlyCopy(engine, row));
    if (why !== null)
      keptFor[runId] = { why, ...definedOnly({ continuedBy: findContinuing(engine.ledger, runId)?.runId }) };
    else if (await orWarn(engine, runId, () => forgetContents(engine, row))) forgotten.push(runId);
  }
  return { forgotten, unapplied: Object.keys(keptFor), keptFor };
}

/** The last applied run that continued it, also by way of others. */
function findContinuing(ledger: Engine['ledger'], runId: string): RunRow | undefined {
  const later = new Map<string, RunRow>();
  const names = [runId];
  for (const name of names)
    for (const row of ledger.runs({ continues: name })) {
      if (!later.has(row.runId)) names.push(row.runId);
      later.set(row.runId, row);
    }
  const applied = [...later.values()].filter(({ appliedAt }) => appliedAt !== undefined);
  return applied.toSorted((a, b) => a.acceptedOffset - b.acceptedOffset).at(-1);
}

/** Deletes the refs that a forget which was killed half-way left. What is kept of files is never deleted here. */
export async function finishForgotten(engine: Engine): Promise<void> {
  const { projectRoot, stateDir } = engine.config;
  const left = new Set<string>();
  try {
    const { refs } = await engine.workspaces.inspect(engine.config);
    for await (const { runId } of refs()) if (isForgotten(engine, runId)) left.add(runId);
  } catch (error) {
    const message = `refs of forgotten runs could not be looked for: ${explainError(error)}`;
    engine.bus.emit(BusTopic.WARNING, { source: 'sweep', message });
  }
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
