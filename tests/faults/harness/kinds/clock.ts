/** The wall clock jumps under the host and everything below it; the monotonic one does not. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { clockVariables, LIBFAKETIME } from '../../fake-clock.ts';
import { choose } from '../choose.ts';
import type { Fault, Random } from '../contract.ts';
import { choosePhase, describePhase, reachPhase } from '../phases.ts';

export function findClockObstacle(): string | null {
  return LIBFAKETIME === undefined ? 'libfaketime is missing: apt-get install libfaketime' : null;
}

export function createClockFault(random: Random): Fault {
  const seconds = choose(random, [3600, -3600, 86_400, -86_400, 315_360_000, -315_360_000]);
  const phase = choosePhase(random);
  let file = '';
  return {
    name: `clock ${seconds > 0 ? '+' : ''}${seconds} s ${describePhase(phase)}`,
    phase,
    wrap(command, stage) {
      file = join(stage.base, 'clock');
      writeFileSync(file, '+0\n');
      return { ...command, env: { ...command.env, ...clockVariables(file) } };
    },
    async strike(stage, running) {
      if (!(await reachPhase(phase, stage, running))) return false;
      writeFileSync(file, `${seconds > 0 ? '+' : ''}${seconds}\n`);
      return true;
    },
  };
}
