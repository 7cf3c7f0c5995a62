/** The user's repository works as before, and so does the next run. */
import { spawnSync } from 'node:child_process';
import type { DispatchResult } from '@caisson/protocol';
import type { Stage } from '../contract.ts';
import { UNCOMMITTED } from '../stage.ts';
import type { Invariant } from './contract.ts';

const COMMANDS: readonly (readonly string[])[] = [
  ['fsck', '--no-dangling', '--no-progress'],
  ['log', '--all', '--oneline'],
  ['gc', '--quiet', '--prune=now'],
];

export const gitWorks: Invariant = {
  name: 'git-works',
  check({ stage }) {
    if (stage.setting.workspace === 'in-place') return [];
    return [...COMMANDS.flatMap((args) => runGit(stage, args)), ...findChanges(stage)];
  },
};

function runGit({ project }: Stage, args: readonly string[]): string[] {
  const { status, stderr } = spawnSync('git', args, {
    cwd: project.root,
    env: project.env,
    encoding: 'utf8',
  });
  const complaints = stderr.split('\n').filter((line) => /^(error|fatal|warning|missing|broken)/.test(line));
  return status === 0 && complaints.length === 0
    ? []
    : [`git ${args[0]} exits ${status}: ${complaints.join('; ')}`];
}

/** As the harness itself left them. */
const OWN_LINES = new RegExp(` (caisson\\.yaml|\\.caisson/|${UNCOMMITTED})$`);

/** The run was to leave the user's files alone, and its own folder is ignored. */
function findChanges({ project }: Stage): string[] {
  const options = { cwd: project.root, env: project.env, encoding: 'utf8' } as const;
  return spawnSync('git', ['status', '--porcelain'], options)
    .stdout.split('\n')
    .filter((line) => line !== '' && !OWN_LINES.test(line))
    .map((line) => `git status: ${line}`);
}

export const goesOn: Invariant = {
  name: 'goes-on',
  async check({ stage }) {
    const { workspace } = stage.setting;
    const args = ['-o', 'json', '--workspace', workspace, '--', 'true'];
    const { stdout, stderr } = await stage.caisson('run', ...args);
    try {
      const { status } = JSON.parse(stdout) as DispatchResult;
      return status === 'done' ? [] : [`another run is ${status}`];
    } catch {
      return [`another run is refused: ${stderr.trim()}`];
    }
  },
};
