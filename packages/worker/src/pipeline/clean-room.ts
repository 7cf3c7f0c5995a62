/**
 * The clean room: a check in it is only about the agent's patch.
 *
 * C1  Its files are the baseline, the user's own ignored files, inputs, capabilities and the patch, in this order.
 *     Brought folders are as the user has them.
 * C2  Setup runs again, with the patch in place: as a user would set up the result.
 * C3  Mailbox, git dir, HOME and TMPDIR are new; no folder that the agent could write to is visible.
 */
import { mkdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { includeFiles, writeBaseline, writePatch, removeTree } from '@caisson/ground';
import { definedOnly, type Job } from '@caisson/protocol';
import { type AttemptContext, fail } from '../attempt/index.ts';
import {
  overlayCapabilities,
  type SetupCommand,
  describeSetupFailure,
  runSetupCommand,
} from '../steps/index.ts';
import { runInSandbox, type CommandOutcome } from '../commands/index.ts';

/** Runs the command in a clean room that is made for it and removed again. A setup that fails there is the outcome. */
export async function runInCleanRoom(
  context: AttemptContext,
  command: string,
  timeoutMs: number,
): Promise<CommandOutcome> {
  const { job } = context;
  if (job.grant.sandbox === 'none')
    throw fail('policy-denied', 'a clean room needs the sandbox, and this run has none', {
      step: 'pipeline',
    });
  const folder = join(dirname(job.paths.captures), `clean-room.${job.runId}.${job.attempt}`);
  await removeTree(folder);
  try {
    const room = useCleanRoom(job, folder);
    const setup = await fillCleanRoom(context, room);
    for (const script of setup) {
      const outcome = await runSetupCommand(context, script, room);
      const problem = describeSetupFailure(script, outcome, job.setupTimeoutMs);
      if (problem !== null) return { ...outcome, stderr: `in the clean room, ${problem}` };
    }
    return await runInSandbox(context, { purpose: 'clean-room', command, timeoutMs, job: room });
  } finally {
    await removeTree(folder);
  }
}

/** C3. The same job with other folders. */
function useCleanRoom(job: Job, folder: string): Job {
  const { agentGit: _agents, ...workspace } = job.workspace;
  const git = workspace.cleanRoom?.git;
  const mailbox = join(folder, 'mailbox');
  const layers = join(folder, 'layers');
  for (const path of [mailbox, layers]) mkdirSync(path, { recursive: true, mode: 0o700 });
  return {
    ...job,
    workspace: {
      ...workspace,
      kind: 'worktree',
      path: join(folder, 'files'),
      ...definedOnly({ agentGit: git }),
    },
    paths: { ...job.paths, mailbox, session: null, ...(job.paths.layers === undefined ? {} : { layers }) },
  };
}

/** C1. Returns what C2 runs. */
async function fillCleanRoom({ job, gathered }: AttemptContext, room: Job): Promise<SetupCommand[]> {
  const { gitDir, baselineTree, path: target, cleanRoom, agentGit } = room.workspace;
  mkdirSync(join(target, '.caisson'), { recursive: true });
  if (agentGit !== undefined) mkdirSync(join(target, '.git'));
  await writeBaseline({ gitDir, baselineTree, target });
  makeMountPoints(room);
  if (cleanRoom !== undefined) {
    const { from, to, patterns } = cleanRoom.include;
    await includeFiles({ from, to: join(target, to), patterns });
  }
  const setup = await overlayCapabilities(room);
  if (gathered.patchRef !== undefined) {
    const patchFile = join(job.paths.captures, gathered.patchRef);
    await writePatch({ gitDir, baselineTree, target, patchFile });
  }
  return setup;
}

function makeMountPoints({ workspace: { path, mountPath, brought = [] } }: Job): void {
  for (const { target } of brought)
    if (target.startsWith(`${mountPath}/`))
      mkdirSync(join(path, relative(mountPath, target)), { recursive: true });
}
