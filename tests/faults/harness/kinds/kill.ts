/** SIGKILL of one part of the run: at a labelled moment, or at the nth system call of the host. */
import type { Moment } from '../../moments.ts';
import { chooseCall, type CommandName } from '../calls.ts';
import { choose } from '../choose.ts';
import type { Fault, Random, Running, Stage } from '../contract.ts';
import { choosePhase, describePhase, reachPhase, type Phase } from '../phases.ts';
import { killQuietly } from '../stage.ts';
import { injectFault } from '../strace.ts';
import { awaitTargets, type Target } from '../targets.ts';

/** Moments at which there is a worker, and at which there may be a sandbox. */
const WITH_WORKER: [Moment, ...Moment[]] = ['launched', 'started', 'agent', 'captured', 'result'];
const WITH_SANDBOX: [Moment, ...Moment[]] = ['launched', 'started', 'agent'];
/** Moments at or before which the host calls git. */
const WITH_GIT: [Moment, ...Moment[]] = ['accepted', 'preparing', 'agent', 'result', 'checkpointed'];

export function createKillFault(random: Random): Fault {
  const target: Target = choose(random, ['host', 'host', 'worker', 'launcher', 'agent', 'relay', 'git']);
  return random() < 0.35 ? killAtCall(random) : killAtPhase(random, target);
}

/** For a case that needs a dead host. */
export function createHostKill(random: Random): Fault {
  return random() < 0.35 ? killAtCall(random) : killAtPhase(random, 'host');
}

/** Exact: the host ends inside the call, before its effect. */
export function killAtCall(random: Random, command: CommandName = 'run'): Fault {
  const { calls, nth } = chooseCall(random, command, 'host');
  return injectFault({ calls, effect: 'signal=KILL', when: String(nth), scope: 'host' });
}

function killAtPhase(random: Random, target: Target): Fault {
  const phase = choosePhase(random, momentsOf(target));
  // The agent ends with its killer's target, except where that is itself or a git that comes after it.
  const isEndless = phase.moment === 'agent' && target !== 'agent' && target !== 'git';
  return {
    name: `kill ${target} ${describePhase(phase)}`,
    phase,
    needs: { isEndless, ...(target === 'relay' ? { hasNetwork: true } : {}) },
    strike: (stage, running) => killTarget(target, phase, stage, running),
  };
}

function momentsOf(target: Target): [Moment, ...Moment[]] | undefined {
  if (target === 'host') return undefined;
  if (target === 'git') return WITH_GIT;
  return target === 'worker' ? WITH_WORKER : WITH_SANDBOX;
}

async function killTarget(
  target: Target,
  phase: Phase,
  stage: Stage,
  running: readonly Running[],
): Promise<boolean> {
  if (!(await reachPhase(phase, stage, running))) return false;
  const pids = await awaitTargets(target, stage, running);
  return pids.map((pid) => killQuietly(pid)).some((wasThere) => wasThere);
}
