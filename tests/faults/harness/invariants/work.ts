/** What an agent wrote is kept, and every command reports it correctly. */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DispatchResult } from '@caisson/protocol';
import { isEnding } from '@caisson/protocol';
import { FIRST_LINE, leavesWork, WHOLE_WORK } from '../agents.ts';
import type { Stage } from '../contract.ts';
import type { Invariant } from './contract.ts';

/** Work that was seen in a workspace is in a checkpoint or a patch; work of a run that is done is there as a whole. */
export const workIsKept: Invariant = {
  name: 'work-kept',
  async check({ stage, losesUnsynced }) {
    if (!leavesWork(stage.setting)) return [];
    const rows = stage.ledger().runs();
    const kept = await Promise.all(rows.map(async ({ runId }) => findWork(stage, runId)));
    const missing = rows
      .filter(({ status }, index) => status === 'done' && kept[index] !== WHOLE_WORK)
      .map(({ runId }) => `${runId} is done, but neither checkpoint nor patch has its work`);
    const isGone = stage.seen.hasWork && !losesUnsynced && stage.setting.runs === 1;
    return isGone && !kept.some((text) => text.startsWith(FIRST_LINE))
      ? [...missing, 'work that was seen in the workspace is in no checkpoint and no patch']
      : missing;
  },
};

/** A file system that lost a part of the file has zeros in its place, and git calls that binary. */
function showsWork(diff: string): boolean {
  return (
    diff.includes(`+${FIRST_LINE}`) || /^diff --git .*\/work\.txt\n(?:.+\n)*GIT binary patch/m.test(diff)
  );
}

/** `diff` shows what the checkpoint has, or fails; it never says that nothing was changed. */
export const diffIsTrue: Invariant = {
  name: 'diff-true',
  async check({ stage }) {
    const found: string[] = [];
    for (const { runId } of stage.ledger().runs()) {
      const { code, stdout, stderr } = await stage.read('diff', runId);
      const text = keptWork(stage, runId);
      if (code !== 0 && text === '') continue;
      if (code === 0 && text !== '' && !showsWork(stdout))
        found.push(`${runId}: diff says "${(stdout + stderr).trim()}", its checkpoint has the work`);
      if (code !== 0 && !namesPlace(stderr, runId)) found.push(`${runId}: diff fails: ${stderr.trim()}`);
    }
    return found;
  },
};

/** `show` has the status of `runs`, and both have that of the ending. */
export const showIsTrue: Invariant = {
  name: 'show-true',
  async check({ stage, cli }) {
    const found: string[] = [];
    const rows = stage.ledger().runs();
    for (const row of rows) {
      const { code, stdout, stderr } = await stage.read('show', row.runId, '-o', 'json');
      if (code !== 0) found.push(`${row.runId}: show fails: ${stderr.trim()}`);
      else if ((JSON.parse(stdout) as DispatchResult).status !== row.status)
        found.push(`${row.runId}: show and runs differ`);
    }
    const succeeded = cli.filter(({ code }) => code === 0).length;
    const done = rows.filter(({ status }) => status === 'done').length;
    return succeeded > done ? [...found, `${succeeded} commands exit 0, ${done} runs are done`] : found;
  },
};

/** `apply` brings in what the checkpoint has, or changes nothing and says why. */
export const applyIsTrue: Invariant = {
  name: 'apply-true',
  async check({ stage }) {
    const [row] = stage.ledger().runs();
    if (row === undefined || stage.setting.workspace === 'in-place') return [];
    const text = await findWork(stage, row.runId);
    const { code, stdout, stderr } = await stage.caisson('apply', row.runId);
    const file = join(stage.project.root, 'work.txt');
    const applied = existsSync(file) ? readFileSync(file, 'utf8') : '';
    if (code === 0 && applied !== text)
      return [`apply exits 0 (${(stdout + stderr).trim()}), work.txt is ${JSON.stringify(applied)}`];
    const isTrue = namesPlace(stderr, row.runId) && hasBegun(stage, row.runId);
    if (code !== 0 && !isTrue) return [`apply fails: ${stderr.trim()}`];
    return code !== 0 && applied !== '' ? ['apply failed and changed files'] : [];
  },
};

/** Where there is no patch, an error that names the checkpoint, or the folder that has the work, is the truth. */
function namesPlace(stderr: string, runId: string): boolean {
  return stderr.includes(`refs/caisson/${runId}`) || stderr.includes(`/${runId}.`);
}

/** Before its start is recorded no agent is let go, and there is no work to be missed. */
function hasBegun(stage: Stage, runId: string): boolean {
  return stage.ledger().read({ runId, types: ['dispatch.started'] }).length > 0;
}

/** The agent's file as it is kept: in the checkpoint, or else in the patch. */
async function findWork(stage: Stage, runId: string): Promise<string> {
  const text = keptWork(stage, runId);
  if (text !== '') return text;
  const { stdout } = await stage.read('diff', runId);
  const [, added = ''] = /^\+\+\+ b\/work\.txt\n@@.*\n((?:\+.*\n)*)/m.exec(stdout) ?? [];
  return added.replaceAll(/^\+/gm, '');
}

/** The agent's file in the checkpoint that the ending names; without one, in that of the newest attempt. */
function keptWork(stage: Stage, runId: string): string {
  const ending = stage
    .ledger()
    .read({ runId })
    .findLast((event) => isEnding(event));
  const named = ending?.data.checkpoint?.commit;
  const refs = named === undefined ? listCheckpoints(stage, runId) : [named];
  return refs.map((ref) => readCommitted(stage, ref)).find((text) => text !== '') ?? '';
}

/** Newest attempt first. */
function listCheckpoints({ custody, project }: Stage, runId: string): string[] {
  const args = ['--git-dir', custody, 'for-each-ref', '--format=%(refname)', `refs/caisson/${runId}/`];
  // Where no work was saved yet there is no repository, or only the beginning of one.
  const { stdout } = spawnSync('git', args, { env: project.env, encoding: 'utf8' });
  return stdout.split('\n').filter(Boolean).toReversed();
}

function readCommitted({ custody, project }: Stage, commit: string): string {
  try {
    return execFileSync('git', ['--git-dir', custody, 'show', `${commit}:work.txt`], {
      env: project.env,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  } catch {
    return ''; // this attempt left no such file
  }
}
