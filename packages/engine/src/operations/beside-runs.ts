/** What a process does beside its runs, once it has one: it removes what is not needed, seals and pushes what others left. */
import type { Engine } from '../engine.ts';
import { createPushing } from './push-left.ts';
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
  const pushing = createPushing(engine);
  let stopSealing: (() => Promise<void>) | null = null;
  return {
    begin(repeat) {
      stopSealing ??= keepSealing(engine, repeat);
      sweeper.begin();
    },
    dispatched() {
      stopSealing ??= keepSealing(engine);
      pushing.begin();
      sweeper.dispatched();
    },
    async stop() {
      await pushing.stop();
      await sweeper.stop();
      await stopSealing?.();
    },
  };
}
