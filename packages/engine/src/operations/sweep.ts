/**
 * What a host removes by itself while it lives, so that a project does not grow for ever: beside its first dispatch,
 * after every few runs, and every few minutes.
 */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { shareTurn } from '@caisson/ground';
import { BusTopic } from '@caisson/protocol';
import type { Engine } from '../engine.ts';
import { tidyStore } from '../store/index.ts';
import {
  DAY_MS,
  removeDeadSockets,
  removeHalfWritten,
  removeForeignGroups,
  removeLeftOfRuns,
  sweepRuntime,
} from './collect-garbage.ts';
import { emptyTrash } from './empty-trash.ts';

const EVERY_MS = 10 * 60_000;
/** A pass beside a dispatch shares the machine with a run that a user waits for. */
const DELETED_BESIDE = 32;
const EVERY_RUNS = 16;

export interface Sweeper {
  /** Sweeps now, and from now on, also without a run. */
  begin(): void;
  /** A run has been accepted: sweeps beside it, if it is time. */
  dispatched(): void;
  /** Resolves when nothing is being removed any more. */
  stop(): Promise<void>;
}

export function createSweeper(engine: Engine, everyMs = EVERY_MS): Sweeper {
  let timer: NodeJS.Timeout | null = null;
  let passing: Promise<void> | null = null;
  let isOver = false;
  let runs = 0;
  let trashAtMs: number | null = null;
  const pass = (steps: readonly Step[]): void => {
    passing ??= takeSteps(steps).finally(() => (passing = null));
  };
  /** A failure is a warning, and does not stop later steps. */
  const takeSteps = async (steps: readonly Step[]): Promise<void> => {
    for (const step of steps) {
      await shareTurn();
      if (isOver) return;
      try {
        await step(engine);
      } catch (error) {
        engine.bus.emit(BusTopic.WARNING, { source: 'sweep', message: (error as Error).message });
      }
    }
  };
  const start = (): void => {
    trashAtMs ??= changedAtMs(engine);
    timer ??= setInterval(() => pass(ALL), everyMs).unref(); // it keeps no process alive
  };
  return {
    begin() {
      if (isOver) return;
      start();
      pass(ALL);
    },
    dispatched() {
      if (isOver) return;
      start();
      if (runs % EVERY_RUNS === 0) pass(BESIDE);
      runs += 1;
    },
    async stop() {
      if (timer !== null) clearInterval(timer);
      await passing;
      // What the runs of this host put there may be too much. A user waits: nothing else is looked at.
      if (runs > 0 && !isOver && trashAtMs !== changedAtMs(engine)) await takeSteps([TRIM]);
      isOver = true;
    },
  };
}

type Step = (engine: Engine) => Promise<unknown>;

const TRIM: Step = (engine) => emptyTrash(engine, { oldest: DELETED_BESIDE, onlySize: true });

/** A folder that is added to the trash, or removed there, changes its time. */
function changedAtMs({ config }: Engine): number {
  return statSync(join(config.stateDir, 'trash'), { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/** The first one runs even beside the shortest run. */
const BESIDE: readonly Step[] = [
  removeLeftOfRuns,
  (engine) => sweepRuntime(engine, DAY_MS),
  removeDeadSockets,
  (engine) => emptyTrash(engine, { oldest: DELETED_BESIDE }),
  ({ config }) => tidyStore(join(config.stateDir, 'store')),
];

const ALL: readonly Step[] = [
  (engine) => sweepRuntime(engine, DAY_MS),
  (engine) => emptyTrash(engine),
  ({ config }) => tidyStore(join(config.stateDir, 'store')),
  removeLeftOfRuns,
  removeForeignGroups,
  removeDeadSockets,
  removeHalfWritten,
];
