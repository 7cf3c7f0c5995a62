/** SIGSTOP of one part for a while, then SIGCONT. Another command looks at the project meanwhile. */
import type { Moment } from '../../moments.ts';
import { choose, chooseNumber } from '../choose.ts';
import type { Fault, Random } from '../contract.ts';
import { choosePhase, describePhase, reachPhase } from '../phases.ts';
import { killQuietly } from '../stage.ts';
import { awaitTargets, type Target } from '../targets.ts';

const WITH_WORKER: [Moment, ...Moment[]] = ['launched', 'started', 'agent'];

export function createFreezeFault(random: Random): Fault {
  const target: Target = choose(random, ['host', 'host', 'worker', 'launcher', 'agent']);
  const phase = choosePhase(random, target === 'host' ? undefined : WITH_WORKER);
  const forMs = chooseNumber(random, 100, 2500);
  return {
    name: `stop ${target} for ${forMs} ms ${describePhase(phase)}`,
    phase,
    async strike(stage, running) {
      if (!(await reachPhase(phase, stage, running))) return false;
      const found = await awaitTargets(target, stage, running);
      const pids = found.filter((pid) => killQuietly(pid, 'SIGSTOP'));
      await stage.caisson('runs');
      await new Promise((resolve) => setTimeout(resolve, forMs)); // the standing still itself
      for (const pid of pids) killQuietly(pid, 'SIGCONT');
      return pids.length > 0;
    },
  };
}
