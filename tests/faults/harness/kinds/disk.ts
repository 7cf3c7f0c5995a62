/** The disk of the state folder is full, or the disk of everything turns read-only. */
import { rmSync } from 'node:fs';
import { chooseNumber } from '../choose.ts';
import type { Fault, Random } from '../contract.ts';
import { fillDisk, fillerOf } from '../disks.ts';
import { choosePhase, describePhase, reachPhase, type Phase } from '../phases.ts';

export function createDiskFault(random: Random): Fault {
  const phase = choosePhase(random);
  return random() < 0.6 ? fillUp(phase, chooseNumber(random, 200, 3000)) : turnReadOnly(phase);
}

/** There is room again after a while, with the command still waiting or not. */
export function fillUp(phase: Phase, forMs: number): Fault {
  return {
    name: `full disk for ${forMs} ms ${describePhase(phase)}`,
    phase,
    needs: { state: 'tmpfs', disk: 'plain' },
    async strike(stage, running) {
      if (stage.disk === null || !(await reachPhase(phase, stage, running))) return false;
      fillDisk(stage.disk.path);
      await new Promise((resolve) => setTimeout(resolve, forMs)); // the fullness itself
      rmSync(fillerOf(stage.disk.path), { force: true });
      return true;
    },
  };
}

function turnReadOnly(phase: Phase): Fault {
  return {
    name: `read-only disk ${describePhase(phase)}`,
    phase,
    needs: { disk: 'ext4', state: 'inside' },
    blocksCommand: true,
    losesUnsynced: true,
    async strike(stage, running) {
      if (!(await reachPhase(phase, stage, running))) return false;
      stage.disk?.turnReadOnly?.();
      return true;
    },
    async lift(stage) {
      await stage.endProcesses(); // a disk is mounted again after a restart
      await stage.closeLedger();
      stage.disk?.renew();
    },
  };
}
