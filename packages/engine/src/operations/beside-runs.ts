/** What a process does beside its runs, once it has one: it removes what is not needed, and seals what has no seal. */
import type { Engine } from '../engine.ts';
import { keepSealing } from './seal-ended.ts';
import { createSweeper } from './sweep.ts';

export interface Beside {
  /** A run has been accepted. */
  dispatched(): void;
  stop(): Promise<void>;
}

export function createBeside(engine: Engine): Beside {
  const sweeper = createSweeper(engine);
  let stopSealing: (() => Promise<void>) | null = null;
  return {
    dispatched() {
      stopSealing ??= keepSealing(engine);
      sweeper.dispatched();
    },
    async stop() {
      await sweeper.stop();
      await stopSealing?.();
    },
  };
}
