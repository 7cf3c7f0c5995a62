/** The user tidies up the repository while runs work on it. */
import { spawnSync } from 'node:child_process';
import { choose } from '../choose.ts';
import type { Fault, Random, Running, Stage } from '../contract.ts';
import { choosePhase, describePhase, look, reachPhase } from '../phases.ts';

const CHORES: [readonly string[], ...(readonly string[])[]] = [
  ['repack', '-adq'],
  ['gc', '--prune=now', '--quiet'],
  ['prune', '--expire=now'],
  ['pack-refs', '--all', '--prune'],
  ['worktree', 'prune', '--expire=now'],
  ['reflog', 'expire', '--expire=now', '--all'],
];

export function createGitFault(random: Random): Fault {
  const chore = choose(random, CHORES);
  const phase = choosePhase(random);
  const runs = choose(random, [1, 1, 3, 12]);
  return {
    name: `git ${chore.join(' ')} beside ${runs} runs from ${describePhase(phase).replace('once ', '')} on`,
    phase,
    needs: { workspace: 'worktree', runs },
    async strike(stage, running) {
      if (!(await reachPhase(phase, stage, running))) return false;
      await repeatChore(chore, stage, running);
      return true;
    },
  };
}

/** Again and again, until the runs are over. */
async function repeatChore(
  chore: readonly string[],
  stage: Stage,
  running: readonly Running[],
): Promise<void> {
  const { root, env } = stage.project;
  do {
    spawnSync('git', chore, { cwd: root, env });
    look(stage);
    await new Promise((resolve) => setImmediate(resolve));
  } while (!running.every((each) => each.isOver()));
}
