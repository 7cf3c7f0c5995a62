/** Risky files of one project, by their path below the top of its files. */
import { existsSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';

import { listCommandWords } from '@caisson/ground';

import type { OwnControl } from '@caisson/protocol';

import type { PrepareOptions } from './contract.ts';
import type { Repository } from './locate-repository.ts';

/** Settings whose value git reads as settings, or runs. */
const RUN_BY_GIT =
  /^(core\.(hookspath|fsmonitor|sshcommand|editor|pager|askpass)|include\.path|includeif\..*\.path|filter\..*|diff\.(external|.*\.(command|textconv))|merge\..*\.driver|alias\..*|credential\..*|gpg\..*program|uploadpack\..*|sequence\.editor)$/;

/** Files of the project that the settings of its repository make git run or read as settings. */
export function findFilesOfGit({ top, gitDir, config }: Repository): OwnControl[] {
  const named = [...config].flatMap(([key, value]) =>
    RUN_BY_GIT.test(key) ? listCommandWords(value).map((word) => ({ key, word })) : [],
  );
  const paths = named
    // An included file is relative to the file that includes it; everything else to the top.
    .map(({ key, word }) => relative(top, resolve(key.startsWith('include') ? gitDir : top, word)))
    .filter(isInside)
    .filter((path) => existsSync(join(top, path)));
  return [...new Set(paths)].map((path) => ({ path, grade: 'never' }));
}

/** The settings name files relative to the project's folder, which may be below the top of the workspace. */
export function placeControls(
  { controls = [], projectRoot }: Pick<PrepareOptions, 'controls' | 'projectRoot'>,
  top: string,
): OwnControl[] {
  const project = relative(top, projectRoot);
  return controls
    .map(({ path, grade }) => ({ path: join(project, path), grade }))
    .filter(({ path }) => isInside(path));
}

function isInside(path: string): boolean {
  return path !== '' && path !== '.' && path !== '..' && !path.startsWith('../');
}
