/** The parts of a run that can get a fault, found among the host's processes. */
import { readlinkSync } from 'node:fs';
import { readCommand, treeOf } from '../processes.ts';
import { FIRST_LINE } from './agents.ts';
import type { Running, Stage } from './contract.ts';
import { lookUntil } from './phases.ts';

export type Target = 'host' | 'worker' | 'launcher' | 'agent' | 'relay' | 'git';

/** Waits until there is such a part. None when the runs ended before. */
export async function awaitTargets(
  target: Target,
  stage: Stage,
  running: readonly Running[],
): Promise<number[]> {
  let pids: number[] = [];
  await lookUntil(() => {
    pids = findTargets(target, stage, running);
    return (
      pids.length > 0 ||
      stage
        .ledger()
        .runs()
        .some((row) => row.ending !== undefined)
    );
  }, running);
  return pids;
}

/** The processes that are this part of the runs, now. */
function findTargets(target: Target, stage: Stage, running: readonly Running[]): number[] {
  const hosts = running.filter((each) => !each.isOver()).map(({ pid }) => pid);
  if (target === 'host') return hosts;
  const tree = hosts.flatMap(treeOf);
  switch (target) {
    case 'worker':
      return findWorkers(stage).filter((pid) => tree.includes(pid));
    case 'launcher':
      return tree.filter((pid) => programOf(pid) === 'bwrap');
    case 'agent':
      return tree.filter((pid) => isAgent(pid));
    case 'relay':
      return tree.filter((pid) => / relay \d+ /.test(readCommand(pid)));
    case 'git':
      return tree.filter((pid) => programOf(pid) === 'git');
  }
}

/** As the ledger names them; a spare one that waits for another run is not meant. */
function findWorkers(stage: Stage): number[] {
  return stage
    .ledger()
    .read({ types: ['attempt.launched'] })
    .map((event) => (event.data['handle'] as { pid: number }).pid);
}

function isAgent(pid: number): boolean {
  const command = readCommand(pid);
  return command.startsWith('sh -c set -e;') && (command.includes(FIRST_LINE) || command.includes('hello'));
}

function programOf(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/exe`).split('/').at(-1) ?? '';
  } catch {
    return ''; // it ended while we looked
  }
}
