/**
 * Many small runs through hosts that live on. One case is one host with a hundred runs, and `--count` counts runs.
 * Memory, open files and groups are at the end what they were early on, and every run is proven.
 */
import { fileURLToPath } from 'node:url';
import { chooseSetting } from '../choose.ts';
import type { Findings, Kind, Stage } from '../contract.ts';
import { countMemoryGroups } from '../../../../packages/ground/src/cgroup/fixtures/count-memory-groups.ts';
import { judgeGroups } from '../groups.ts';
import { checkAll } from '../invariants/check-all.ts';
import type { SoakReport } from '../soak-host.ts';
import { openStage } from '../stage.ts';

export const RUNS_PER_HOST = 100;
export const HOST = fileURLToPath(new URL('../soak-host.ts', import.meta.url));
/** What is the same in every soak. */
export const SOAKED = { agent: 'nothing', workspace: 'worktree', state: 'inside' } as const;
/** Garbage that was not collected yet is not a leak. */
const MAX_GROWTH_MIB = 60;
const MAX_GROWTH_FILES = 8;

export const soak: Kind = {
  name: 'soak',
  summary: 'many runs through few hosts',
  isUsual: false,
  findObstacle: () => null,
  countCases: (runs) => Math.ceil(runs / RUNS_PER_HOST),
  plan(random) {
    const setting = chooseSetting(random, SOAKED);
    return {
      name: `${RUNS_PER_HOST} runs through one host`,
      async run() {
        const stage = await openStage(setting);
        try {
          return await soakOnce(stage, RUNS_PER_HOST);
        } finally {
          await stage.close();
        }
      },
    };
  },
};

export async function soakOnce(stage: Stage, runs: number): Promise<Findings> {
  const groupsBefore = countMemoryGroups();
  const running = stage.start({
    argv: [process.execPath, '--expose-gc', HOST, String(runs)],
    env: {},
  });
  const { code, stdout, stderr } = await running.ended;
  if (code !== 0) return { outcome: 'failed', struck: 1, missed: 0, violations: [`ends: ${stderr}`] };
  const report = JSON.parse(stdout) as SoakReport;
  const violations = [
    ...judge(report, runs),
    ...(await judgeGroups(groupsBefore)),
    ...(await checkEvery(stage)),
  ];
  return { outcome: 'done', struck: 1, missed: 0, violations };
}

function judge({ done, early, late }: SoakReport, runs: number): string[] {
  const memory = late.memoryMiB - early.memoryMiB;
  const files = late.files - early.files;
  return [
    ...(done === runs ? [] : [`ends: ${done} of ${runs} runs ended as they should`]),
    ...(memory <= MAX_GROWTH_MIB ? [] : [`memory: the host grew by ${memory} MiB`]),
    ...(files <= MAX_GROWTH_FILES ? [] : [`files: the host has ${files} more open files`]),
  ];
}

/** One `verify` after the other would take longer than the runs: the ledger is checked as a whole. */
async function checkEvery(stage: Stage): Promise<string[]> {
  return await checkAll({ stage, cli: [], losesUnsynced: false }, { isBrief: true });
}
