/** Risky files of one project, by where they lie below the top of its files. */
import { join, relative, resolve } from 'node:path';

import type { OwnControl } from '@caisson/protocol';

import type { PrepareOptions } from './contract.ts';
import type { Repository } from './locate-repository.ts';

/** Where git looks for hooks instead of its own folder, if that is among the project's files. */
export function findHookFolders({ top, config }: Repository): OwnControl[] {
  const named = config.get('core.hookspath');
  if (named === undefined || named === '' || named.startsWith('~')) return [];
  const path = relative(top, resolve(top, named));
  return isInside(path) ? [{ path, grade: 'never' }] : [];
}

/** The settings name files from the project's folder, which may lie below the top of the workspace. */
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
