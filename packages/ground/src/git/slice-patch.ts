/** A part of a patch: some of its files, or some of their hunks. */
import { showPath } from '../platform/index.ts';
import { parsePatchHeaders } from './patch-files.ts';

/** A file of a patch, by its new name (a deleted one by its old); without `hunks` all of it. Hunks count from 0. */
export interface PatchChoice {
  readonly path: string;
  readonly hunks?: readonly number[] | undefined;
}

/** Names a file or a hunk that the patch does not have. */
export class PatchChoiceError extends Error {}

/** The chosen part, in the order of the patch. Throws PatchChoiceError. */
export function slicePatch(patch: Buffer, choices: readonly PatchChoice[]): Buffer {
  const wanted = new Map(choices.map((choice) => [choice.path, choice]));
  const parts: Buffer[] = [];
  const seen = new Set<string>();
  for (const { path, bytes } of splitFiles(patch)) {
    const choice = wanted.get(path);
    if (choice === undefined) continue;
    if (choice.hunks !== undefined && seen.has(path))
      throw new PatchChoiceError(`${path} changes its type: it can only be taken as a whole`);
    seen.add(path);
    parts.push(choice.hunks === undefined ? bytes : sliceFile(path, bytes, new Set(choice.hunks)));
  }
  const missing = choices.find(({ path }) => !seen.has(path));
  if (missing !== undefined) throw new PatchChoiceError(`the patch does not change ${missing.path}`);
  return Buffer.concat(parts);
}

function splitFiles(patch: Buffer): { path: string; bytes: Buffer }[] {
  const headers = parsePatchHeaders(patch);
  return splitAt(patch, 'diff --git ').map((bytes, index) => {
    const { newPath, oldPath } = headers[index] ?? { newPath: null, oldPath: null };
    return { path: showPath(newPath ?? oldPath ?? Buffer.alloc(0)), bytes };
  });
}

/** Cuts before each line that begins so: lines of hunks and of binary parts never do. */
function splitAt(bytes: Buffer, start: string): Buffer[] {
  const cuts: number[] = [];
  for (let at = 0; at < bytes.length; at = nextLine(bytes, at))
    if (bytes.toString('latin1', at, at + start.length) === start) cuts.push(at);
  return cuts.map((from, index) => bytes.subarray(from, cuts[index + 1] ?? bytes.length));
}

function nextLine(bytes: Buffer, at: number): number {
  const newline = bytes.indexOf(0x0a, at);
  return newline === -1 ? bytes.length : newline + 1;
}

function sliceFile(path: string, bytes: Buffer, wanted: ReadonlySet<number>): Buffer {
  const hunks = splitAt(bytes, '@@ ');
  const header = bytes.subarray(0, bytes.length - hunks.reduce((sum, hunk) => sum + hunk.length, 0));
  const unknown = [...wanted].find((number) => hunks[number] === undefined);
  if (unknown !== undefined || wanted.size === 0)
    throw new PatchChoiceError(
      `${path} has the hunks 0 to ${hunks.length - 1}, and no ${unknown ?? 'empty choice'}`,
    );
  let shift = 0;
  const kept = hunks.flatMap((hunk, number) => {
    const { moved, growth } = moveHunk(hunk, shift);
    if (wanted.has(number)) return [moved];
    shift -= growth;
    return [];
  });
  return Buffer.concat([header, ...kept]);
}

/** The hunk where the files before it grew by `shift` lines more, and by how many lines it grows itself. */
function moveHunk(hunk: Buffer, shift: number): { moved: Buffer; growth: number } {
  const end = nextLine(hunk, 0);
  const line = hunk.toString('latin1', 0, end);
  const found = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(,\d+)? @@/.exec(line);
  if (found === null) throw new PatchChoiceError('the patch has a hunk that cannot be read');
  const [all, oldStart, oldCount = '1', newStart, newCount = ''] = found;
  const old = found[2] === undefined ? oldStart : `${oldStart},${oldCount}`;
  const first = `@@ -${old} +${Number(newStart) + shift}${newCount} @@${line.slice(all.length)}`;
  const growth = Number(newCount.slice(1) || '1') - Number(oldCount);
  return { moved: Buffer.concat([Buffer.from(first, 'latin1'), hunk.subarray(end)]), growth };
}
