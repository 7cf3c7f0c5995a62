/** Lists our refs and folders in the repositories and in the state folder. Changes nothing. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';

import type { Stamp } from '@caisson/ground';

import type { InspectedWorkspaces, OwnRef, RecoverableWorkspace } from './contract.ts';
import { listCustodies } from './custody.ts';
import type { UserFolders } from './locate-repository.ts';
import { listFolder, listMoved, listRecoverable } from './record.ts';
import { walkRefs } from './survey-refs.ts';

const OWN_REF = /^refs\/caisson\/([^/]+)/;

export async function inspectWorkspaces(
  { projectRoot, stateDir }: { projectRoot: string; stateDir: string },
  { user, stamp }: { user: UserFolders; stamp: Stamp },
): Promise<InspectedWorkspaces> {
  const places = await listCustodies({ projectRoot, stateDir }, user);
  const attempts = await listRecoverable(stateDir, stamp);
  const moved = await listMoved(stateDir, stamp);
  const known = new Set([...attempts, ...moved].map(({ attemptDir }) => attemptDir));
  const names = await listFolder(join(stateDir, 'worktrees'));
  return {
    refs: () => walkOwnRefs(places),
    moved,
    foreign: names.map((name) => join(stateDir, 'worktrees', name)).filter((path) => !known.has(path)),
    attempts: attempts.map((attempt) => ({ ...attempt, hasRepository: hasRepository(attempt) })),
  };
}

async function* walkOwnRefs(repositories: readonly string[]): AsyncGenerator<OwnRef> {
  for (const repository of repositories)
    for await (const { ref, problem } of walkRefs(repository)) {
      const runId = OWN_REF.exec(ref)?.[1];
      if (runId !== undefined) yield { repository, ref, runId, problem };
    }
}

function hasRepository({ prepared }: RecoverableWorkspace): boolean {
  return prepared === null || existsSync(prepared.custodyDir);
}
