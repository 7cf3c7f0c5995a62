/** Seeded choices. Each is a draw; the order of the draws is part of what a seed means. */
import { createHash } from 'node:crypto';
import { createRandom } from '../process-trees.ts';
import type { Random, Setting } from './contract.ts';

export function randomOf(seed: number, kind: string, index: number): Random {
  const digest = createHash('sha256').update(`${seed}/${kind}/${index}`).digest();
  return createRandom(digest.readUInt32LE(0));
}

export function choose<T>(random: Random, values: readonly [T, ...T[]]): T {
  return values[Math.floor(random() * values.length)] ?? values[0];
}

/** Both ends included. */
export function chooseNumber(random: Random, from: number, to: number): number {
  return from + Math.floor(random() * (to - from + 1));
}

export function chooseSetting(random: Random, needs: Partial<Setting> = {}): Setting {
  return {
    workspace: choose(random, ['worktree', 'worktree', 'in-place']),
    agent: choose(random, ['writes', 'writes', 'commits', 'fails', 'nothing']),
    state: choose(random, ['inside', 'inside', 'inside', 'tmpfs']),
    disk: 'plain',
    retries: choose(random, [0, 0, 0, 1]),
    runs: 1,
    isEndless: false,
    hasNetwork: false,
    isDirty: random() < 0.3,
    ...needs,
  };
}
