/** What a process does beside its runs, once it has one: it removes what is not needed, and seals what has no seal. */
import type { Engine } from '../engine.ts';
import { keepSealing, type Repeat } from './seal-ended.ts';
import { createSweeper } from './sweep.ts';

export interface Beside {
  /** Begins before there is a run: this process stays. */
  begin(repeat: Repeat): void;
  /** A run has been accepted. */
  dispatched(): void;
  stop(): Promise<void>;
}

export function createBeside(engine: Engine): Beside {
  const sweeper = createSweeper(engine);
  let stopSealing: (() => Promise<void>) | null = null;
  return {
    begin(repeat) {
      stopSealing ??= keepSealing(engine, repeat);
      sweeper.begin();
    },
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
