/** The wall clock jumps under the host and everything below it; the monotonic one does not. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { choose } from '../choose.ts';
import type { Fault, Random } from '../contract.ts';
import { choosePhase, describePhase, reachPhase } from '../phases.ts';

const LIBRARY = [
  '/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1',
  '/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1',
].find((path) => existsSync(path));

export function findClockObstacle(): string | null {
  return LIBRARY === undefined ? 'libfaketime is missing: apt-get install libfaketime' : null;
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
      return { ...command, env: { ...command.env, ...fakeTime(file) } };
    },
    async strike(stage, running) {
      if (!(await reachPhase(phase, stage, running))) return false;
      writeFileSync(file, `${seconds > 0 ? '+' : ''}${seconds}\n`);
      return true;
    },
  };
}

function fakeTime(file: string): Record<string, string> {
  return {
    LD_PRELOAD: LIBRARY ?? '',
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_NO_CACHE: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
    DONT_FAKE_MONOTONIC: '1',
  };
}
