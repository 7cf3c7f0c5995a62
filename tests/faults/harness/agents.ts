/** The small programs that act as an agent. The exit code of each shows whether it wrote everything. */
import type { Setting } from './contract.ts';

export const FIRST_LINE = 'precious';
export const WHOLE_WORK = 'precious\nmore\n';
/** Longer than any case; unlikely on any other command line. */
export const ENDLESS_SECONDS = '86399';

/** The shell program of a setting. */
export function agentProgram({ agent, isEndless }: Setting): string {
  const pause = isEndless ? `sleep ${ENDLESS_SECONDS}` : 'sleep 0.1';
  const first = `echo ${FIRST_LINE} > work.txt; mkdir -p deep/er; echo side > deep/er/side.txt`;
  const commit = 'git add -A; git -c user.name=A -c user.email=a@example.invalid commit -qm "by the agent"';
  switch (agent) {
    case 'nothing':
      return `set -e; echo hello; ${pause}`;
    case 'writes':
      return `set -e; ${first}; echo hello; ${pause}; echo more >> work.txt`;
    case 'commits':
      return `set -e; ${first}; ${commit}; ${pause}; echo more >> work.txt`;
    case 'fails':
      return `set -e; ${first}; ${pause}; echo more >> work.txt; exit 3`;
  }
}

/** Whether the program leaves files behind. */
export function leavesWork({ agent }: Setting): boolean {
  return agent !== 'nothing';
}
