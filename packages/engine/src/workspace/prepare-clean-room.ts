/**
 * The parts of a clean room beside the baseline and the patch: a second git dir like the agent's own, and the user's
 * ignored files. A worktree's are copied from the user's folder when the clean room is built. In place the agent works
 * in that folder: they are copied before it starts.
 */
import { definedOnly } from '@caisson/protocol';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';

import { includeFiles } from '@caisson/ground';

import { createAgentGit, type AgentGitOptions } from './agent-git.ts';
import { awaitAll } from './await-all.ts';
import { signalOf } from './stage-present.ts';
import type { PreparedWorkspace, PrepareOptions } from './contract.ts';

/** Undefined if no clean room was requested. `project` is the project's folder, relative to the workspace. */
export async function prepareCleanRoom(
  options: PrepareOptions,
  attemptDir: string,
  project: string,
  agentGit: AgentGitOptions | null,
): Promise<PreparedWorkspace['cleanRoom']> {
  if (options.cleanRoom !== true) return undefined;
  const [git, from] = await awaitAll([
    agentGit === null
      ? undefined
      : createAgentGit({
          ...agentGit,
          path: join(attemptDir, 'clean-room-git'),
          target: join(agentGit.repository.top, '.git'),
          givenRefsFile: null,
          settingsFile: null,
        }),
    options.kind === 'in-place' ? copyAside(options, attemptDir) : options.projectRoot,
  ]);
  return {
    ...definedOnly({ git }),
    include: { from, to: project, patterns: options.kind === 'empty' ? [] : [...options.include] },
  };
}

async function copyAside(options: PrepareOptions, attemptDir: string): Promise<string> {
  const to = join(attemptDir, 'clean-room-files');
  await mkdir(to);
  await includeFiles({ patterns: options.include, from: options.projectRoot, to, ...signalOf(options) });
  return to;
}
