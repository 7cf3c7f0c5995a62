/** What of ours is in the repositories and in the state folder, for whoever looks after it. Nothing is changed. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';

import type { Seal } from '@caisson/ground';

import type { InspectedWorkspaces, OwnRef, RecoverableWorkspace } from './contract.ts';
import { custodyGit, listCustodies } from './custody.ts';
import type { UserFolders } from './locate-repository.ts';
import { listFolder, listRecoverable } from './record.ts';

const OWN_REF = /refs\/caisson\/([^/\s]+)\S*/;

export async function inspectWorkspaces(
  { projectRoot, stateDir }: { projectRoot: string; stateDir: string },
  { user, seal }: { user: UserFolders; seal: Seal },
): Promise<InspectedWorkspaces> {
  const places = await listCustodies({ projectRoot, stateDir }, user);
  const attempts = await listRecoverable(stateDir, seal);
  const known = new Set(attempts.map(({ attemptDir }) => attemptDir));
  const names = await listFolder(join(stateDir, 'worktrees'));
  return {
    refs: (await Promise.all(places.map(listOwnRefs))).flat(),
    foreign: names.map((name) => join(stateDir, 'worktrees', name)).filter((path) => !known.has(path)),
    attempts: attempts.map((attempt) => ({ ...attempt, hasRepository: hasRepository(attempt) })),
  };
}

/** Git leaves a broken ref out and names it on stderr. */
async function listOwnRefs(repository: string): Promise<OwnRef[]> {
  const { stdout, stderr } = await custodyGit(repository).run([
    'for-each-ref',
    '--format=%(refname)',
    'refs/caisson/',
  ]);
  const parse = (text: string, isBroken: boolean): OwnRef[] =>
    text.split('\n').flatMap((line) => {
      const [ref, runId] = OWN_REF.exec(line) ?? [];
      return ref === undefined || runId === undefined ? [] : [{ repository, ref, runId, isBroken }];
    });
  return [...parse(stdout.toString('utf8'), false), ...parse(stderr, true)];
}

function hasRepository({ prepared }: RecoverableWorkspace): boolean {
  return prepared === null || existsSync(prepared.custodyDir);
}
