/**
 * What finished runs leave that did nothing: on the disk of the project, of the home and of temporary files, and in the
 * kernel. `--count` counts runs.
 */
import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { chooseSetting } from '../choose.ts';
import type { Findings, Kind, Stage } from '../contract.ts';
import { countMemoryGroups } from '../../../../packages/ground/src/cgroup/fixtures/count-memory-groups.ts';
import { judgeGroups } from '../groups.ts';
import { checkAll } from '../invariants/check-all.ts';
import type { SoakReport } from '../soak-host.ts';
import { openStage } from '../stage.ts';
import { HOST, RUNS_PER_HOST } from './soak.ts';

const MAX_FILES = 4;
const MAX_BYTES = 20_000;
/** Runs that have a host each; the others share one, a hundred at a time. */
const MOST_BY_COMMAND = 20;

export const footprint: Kind = {
  name: 'footprint',
  summary: 'what runs that did nothing leave',
  isUsual: false,
  findObstacle: () => null,
  countCases: () => 1,
  plan: (_random, _index, count) => ({
    name: `${count} runs that do nothing`,
    run: () => leaveFootprint(count),
  }),
};

export async function leaveFootprint(runs: number): Promise<Findings> {
  const needs = { agent: 'nothing', workspace: 'worktree', state: 'inside', isDirty: false } as const;
  const stage = await openStage(chooseSetting(() => 0, needs));
  try {
    const violations = await runMany(stage, runs);
    return { outcome: violations.length === 0 ? 'done' : 'failed', struck: 1, missed: 0, violations };
  } finally {
    await stage.close();
  }
}

async function runMany(stage: Stage, runs: number): Promise<string[]> {
  const violations = await runOnce(stage); // makes what a project has once
  const [before, groups] = [measure(stage), countMemoryGroups()];
  const byCommand = Math.min(MOST_BY_COMMAND, Math.floor(runs / 3));
  for (let run = byCommand; run < runs; run += RUNS_PER_HOST)
    violations.push(...(await runByHost(stage, Math.min(RUNS_PER_HOST, runs - run))));
  for (let run = 0; run < byCommand; run += 1) violations.push(...(await runOnce(stage)));
  const after = measure(stage);
  const files = (after.files - before.files) / runs;
  const bytes = (after.bytes - before.bytes) / runs;
  return [
    ...violations,
    ...(files <= MAX_FILES ? [] : [`files: a run leaves ${files.toFixed(1)}, the limit is ${MAX_FILES}`]),
    ...(bytes <= MAX_BYTES ? [] : [`bytes: a run leaves ${Math.round(bytes)}, the limit is ${MAX_BYTES}`]),
    ...listOfRuns(stage),
    ...(await judgeGroups(groups)),
    ...(await checkAll({ stage, cli: [], losesUnsynced: false }, { isBrief: true })),
  ];
}

async function runOnce(stage: Stage): Promise<string[]> {
  const { code, stderr } = await stage.caisson('run', '--', 'true');
  return code === 0 ? [] : [`ends: a run exits ${code}: ${stderr.trim()}`];
}

async function runByHost(stage: Stage, runs: number): Promise<string[]> {
  const argv = [process.execPath, HOST, String(runs), 'true'] as const;
  const { code, stdout, stderr } = await stage.start({ argv, env: {} }).ended;
  if (code !== 0) return [`ends: a host of ${runs} runs exits ${code}: ${stderr.trim()}`];
  const { done } = JSON.parse(stdout) as SoakReport;
  return done === runs ? [] : [`ends: ${done} of ${runs} runs are done`];
}

/** The store makes each of these once: 256 at most, however many runs there are. */
const SHARD = /\/store\/blobs\/[0-9a-f]{2}$/;

/** Files, and the disk space of files and folders together. */
function measure({ project: { root, env } }: Stage): { files: number; bytes: number } {
  let [files, bytes] = [0, 0];
  for (const folder of [root, env['HOME'] ?? root, env['TMPDIR'] ?? root])
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name);
      if (SHARD.test(path)) continue;
      if (!entry.isDirectory()) files += 1;
      bytes += lstatSync(path).blocks * 512;
    }
  return { files, bytes };
}

/** Everything a run had beside its record is gone. */
function listOfRuns({ stateDir }: Stage): string[] {
  return readdirSync(join(stateDir, 'runtime'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.includes('run_'))
    .map((name) => `files: runtime/${name} is left`);
}
