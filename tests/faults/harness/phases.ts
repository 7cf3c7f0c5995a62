/** When a fault happens: at a labelled moment of the run, and so many milliseconds later. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { hasCome, listFolder, MOMENTS, type Moment } from '../moments.ts';
import { choose, chooseNumber } from './choose.ts';
import type { Random, Running, Stage } from './contract.ts';

export interface Phase {
  readonly moment: Moment;
  readonly laterMs: number;
}

const LOOK_EVERY_MS = 1;
const LIMIT_MS = 180_000;

export function choosePhase(
  random: Random,
  moments: readonly [Moment, ...Moment[]] = MOMENTS as [Moment, ...Moment[]],
): Phase {
  const moment = choose(random, moments);
  // Half of them happen at the moment itself.
  return { moment, laterMs: random() < 0.5 ? 0 : chooseNumber(random, 1, 60) };
}

export function describePhase({ moment, laterMs }: Phase): string {
  return laterMs === 0 ? `once ${moment}` : `${laterMs} ms after ${moment}`;
}

/** Waits for the phase. False when every command was over before it. */
export async function reachPhase(phase: Phase, stage: Stage, running: readonly Running[]): Promise<boolean> {
  const isThere = await lookUntil(() => {
    look(stage);
    return hasCome(phase.moment, { ...stage, root: stage.project.root, ledger: stage.ledger() });
  }, running);
  if (!isThere) return false;
  // The delay is the phase itself, not a wait for something.
  if (phase.laterMs > 0) await new Promise((resolve) => setTimeout(resolve, phase.laterMs));
  look(stage);
  return true;
}

/** Looks until it is so. False when every command ended first. */
export async function lookUntil(isSo: () => boolean, running: readonly Running[]): Promise<boolean> {
  const endMs = performance.now() + LIMIT_MS;
  for (;;) {
    if (isSo()) return true;
    if (running.every((each) => each.isOver())) return isSo();
    if (performance.now() > endMs) throw new Error(`not reached within ${LIMIT_MS} ms`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}

/** Notes what is there to be lost. */
export function look(stage: Stage): void {
  stage.seen.hasWork ||= hasWork(stage);
  for (const event of stage.ledger().read({ after: stage.seen.head?.offset ?? 0 })) {
    stage.seen.head = { offset: event.offset, hash: event.hash };
    if (event.runId !== null) stage.marks.add(event.runId);
  }
}

function hasWork({ setting, project, stateDir }: Stage): boolean {
  if (setting.workspace === 'in-place') return isWritten(join(project.root, 'work.txt'));
  return listFolder(join(stateDir, 'worktrees')).some((name) =>
    isWritten(join(stateDir, 'worktrees', name, 'files/work.txt')),
  );
}

/** A file that exists but is still empty is not work yet. */
function isWritten(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0;
}
