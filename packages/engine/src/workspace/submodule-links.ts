/** Submodules as git records them: a link to a commit instead of a folder. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createGit } from '@caisson/ground';
import type { Repository } from './locate-repository.ts';
import { nameSome } from './name-some.ts';

export interface Link {
  readonly path: string;
  readonly commit: string;
}

async function listLinks(gitDir: string, tree: string): Promise<Link[]> {
  const git = createGit({ cwd: gitDir, gitDir });
  const entries = (await git.text(['ls-tree', '-r', '-z', tree])).split('\0');
  return entries.flatMap((entry) => {
    const match = /^160000 commit ([0-9a-f]+)\t(.+)$/s.exec(entry);
    return match === null ? [] : [{ commit: match[1] ?? '', path: match[2] ?? '' }];
  });
}

/** One warning for all that are not checked out. In the baseline only those are still links. */
export async function describeMissingSubmodules(
  { top }: Pick<Repository, 'top'>,
  gitDir: string,
  baselineTree: string,
): Promise<string[]> {
  if (!existsSync(join(top, '.gitmodules'))) return [];
  const described = await describeLinks(gitDir, baselineTree);
  return described.map((said) => `${said}; git submodule update --init gets it`);
}

/** The submodules of a tree, which a run finds empty. */
export async function describeLinks(gitDir: string, tree: string): Promise<string[]> {
  const paths = (await listLinks(gitDir, tree)).map(({ path }) => path);
  return paths.length === 0 ? [] : [`not checked out, so empty for the run: submodule ${nameSome(paths)}`];
}
