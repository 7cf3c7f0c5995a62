/** A power cut: everything that was not synced is gone, and so is every process. */
import type { Fault, Random } from '../contract.ts';
import { choosePhase, describePhase, reachPhase } from '../phases.ts';

export function createPowerFault(random: Random): Fault {
  const phase = choosePhase(random);
  return {
    name: `power cut ${describePhase(phase)}`,
    phase,
    needs: { disk: 'ext4', state: 'inside' },
    losesUnsynced: true,
    async strike(stage, running) {
      if (!(await reachPhase(phase, stage, running))) return false;
      stage.disk?.cutPower?.();
      await stage.endProcesses();
      return true;
    },
    async lift(stage) {
      await stage.closeLedger();
      stage.disk?.renew();
    },
  };
}
