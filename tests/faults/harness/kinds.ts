/** Every kind of fault by its name. */
import { choose, chooseSetting } from './choose.ts';
import type { Fault, Kind, PlannedCase, Random, Scenario } from './contract.ts';
import { findDiskObstacle } from './disks.ts';
import { adoption } from './kinds/adoption.ts';
import { createClockFault, findClockObstacle } from './kinds/clock.ts';
import { createDiskFault, fillUp } from './kinds/disk.ts';
import { createErrnoFault } from './kinds/errno.ts';
import { flood } from './kinds/flood.ts';
import { footprint } from './kinds/footprint.ts';
import { createFreezeFault } from './kinds/freeze.ts';
import { createGitFault } from './kinds/git.ts';
import { createHostKill, createKillFault, killAtCall } from './kinds/kill.ts';
import { createLockFault } from './kinds/lock.ts';
import { createPowerFault } from './kinds/power.ts';
import { soak } from './kinds/soak.ts';
import { createStaleFault } from './kinds/stale.ts';
import { trees } from './kinds/trees.ts';
import { choosePhase } from './phases.ts';
import { runScenario } from './run-case.ts';
import { findStraceObstacle } from './strace.ts';

const NONE = (): null => null;

/** One fault beside one command. */
function single(
  name: string,
  summary: string,
  createFault: (random: Random) => Fault,
  findObstacle: () => string | null = NONE,
): Kind {
  return {
    name,
    summary,
    isUsual: true,
    findObstacle,
    plan(random) {
      const fault = createFault(random);
      return planScenario({ setting: chooseSetting(random, fault.needs), faults: [fault] });
    },
  };
}

type CreateFault = (random: Random) => Fault;

/** Those that go together on one stage. */
const PAIRED: [CreateFault, ...CreateFault[]] = [
  createKillFault,
  (random) => createErrnoFault(random),
  createFreezeFault,
  createClockFault,
  createGitFault,
  (random) => createLockFault(random),
  (random) => fillUp(choosePhase(random), 1000),
];

const pair: Kind = {
  name: 'pair',
  summary: 'two faults at once',
  isUsual: true,
  findObstacle: () => findStraceObstacle() ?? findClockObstacle() ?? findDiskObstacle('tmpfs'),
  plan(random) {
    const faults = [choose(random, PAIRED)(random), choose(random, PAIRED)(random)];
    const needs = Object.assign({}, ...faults.map((fault) => fault.needs));
    return planScenario({ setting: chooseSetting(random, needs), faults });
  },
};

const BESIDE_RECOVERY: [CreateFault, ...CreateFault[]] = [
  (random) => killAtCall(random, 'recovery'),
  (random) => createErrnoFault(random, 'recovery'),
  (random) => createLockFault(random, ['accepted']),
];

const recovery: Kind = {
  name: 'recovery',
  summary: 'a fault beside the command that recovers from a fault',
  isUsual: true,
  findObstacle: findStraceObstacle,
  plan(random) {
    const fault = createHostKill(random);
    const second = choose(random, BESIDE_RECOVERY)(random);
    return planScenario({
      setting: chooseSetting(random, fault.needs),
      faults: [fault],
      recoveryFaults: [second],
    });
  },
};

export const KINDS: readonly Kind[] = [
  single('kill', 'SIGKILL of one part at a moment or a system call', createKillFault, findStraceObstacle),
  single('errno', 'a system call that fails', (random) => createErrnoFault(random), findStraceObstacle),
  single('disk', 'a full or read-only disk', createDiskFault, () => findDiskObstacle('ext4')),
  single('freeze', 'a part that stands still for a while', createFreezeFault),
  single('clock', 'a wall clock that jumps', createClockFault, findClockObstacle),
  single('power', 'a power cut', createPowerFault, () => findDiskObstacle('ext4')),
  single('git', 'git maintenance beside runs', createGitFault),
  single('lock', 'a ledger that another process has locked', (random) => createLockFault(random)),
  single('stale', 'stale handles of a network disk', createStaleFault, () => findDiskObstacle('fuse')),
  pair,
  recovery,
  adoption,
  trees,
  flood,
  footprint,
  soak,
];

function planScenario(scenario: Scenario): PlannedCase {
  const { workspace, agent, state, retries, isDirty } = scenario.setting;
  const faults = scenario.faults.map(({ name }) => name).join(' + ');
  const second = scenario.recoveryFaults?.map(({ name }) => `, then ${name}`).join('') ?? '';
  return {
    name: `${faults}${second} (${workspace}, agent ${agent}, state ${state}, retries ${retries}${isDirty ? ', uncommitted files' : ''})`,
    run: () => runScenario(scenario),
  };
}
