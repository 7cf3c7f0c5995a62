/** The server of a network file system goes away and comes back: every handle that was open is stale for ever. */
import { choosePhase, describePhase, reachPhase } from '../phases.ts';
import type { Fault, Random } from '../contract.ts';

export function createStaleFault(random: Random): Fault {
  const phase = choosePhase(random);
  return {
    name: `stale handles ${describePhase(phase)}`,
    phase,
    needs: { disk: 'fuse', state: 'inside' },
    blocksCommand: true,
    async strike(stage, running) {
      if (!(await reachPhase(phase, stage, running))) return false;
      await stage.closeLedger().catch(() => undefined); // our own handle is stale, too
      stage.disk?.goStale?.();
      stage.disk?.renew();
      return true;
    },
  };
}
