/** Judges what a patch is about to install, from the computed files (A7). */
import { readlink } from 'node:fs/promises';

import { beneath, judgeFiles, type FileState } from '@caisson/ground';

import type { ApplyPlace } from './apply-on-copies.ts';
import type { ApplyOptions, ApplyResult } from './contract.ts';
import { findFilesOfGit, placeControls } from './own-places.ts';
import { lstatIfThere, readFileAt } from './work-file.ts';

const NOTHING: FileState = { kind: 'nothing', text: null };
const MAX_READ_BYTES = 1024 * 1024;

/** Null when nothing forbids it. */
export async function judgeInstall(
  options: ApplyOptions,
  place: ApplyPlace,
  staging: string,
  paths: readonly Buffer[],
): Promise<ApplyResult | null> {
  const own = [
    ...placeControls(options, place.root),
    ...(place.repository === null ? [] : findFilesOfGit(place.repository)),
  ];
  const risks = await judgeFiles({
    paths,
    root: place.root,
    own,
    before: (path, withText) => readState(place.root, path, withText),
    after: (path, withText) => readState(staging, path, withText),
  });
  const refused = risks.filter(({ grade }) => grade === 'never');
  const asked = options.allowRisky === true ? [] : risks.filter(({ grade }) => grade === 'ask');
  const shown = refused.length > 0 ? refused : asked;
  if (shown.length === 0) return null;
  return {
    kind: 'risky',
    files: shown.map(({ path }) => path),
    risks: shown.map(({ path, why }) => ({ path, why })),
    isRefused: refused.length > 0,
  };
}

async function readState(root: string, path: Buffer, withText: boolean): Promise<FileState> {
  const state = await beneath(root, path, async (at): Promise<FileState> => {
    const entry = await lstatIfThere(at);
    if (entry?.isSymbolicLink() === true) return { kind: 'link', text: await readlink(at) };
    if (entry?.isFile() !== true) return NOTHING;
    const isRead = withText && entry.size <= MAX_READ_BYTES;
    return { kind: 'file', text: isRead ? (await readFileAt(at)).toString('utf8') : null };
  });
  return state ?? NOTHING;
}
