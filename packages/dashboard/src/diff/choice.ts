/** Which parts of a patch a person has chosen. A file that is not in the map is not chosen. */
import type { ApplyChoice } from '../api/answers.ts';
import type { PatchFile } from './parse-patch.ts';

/** Path → numbers of its chosen hunks; `all` also where there is no hunk (a binary file, a mode). */
export type Choice = ReadonlyMap<string, 'all' | ReadonlySet<number>>;

export const NOTHING_CHOSEN: Choice = new Map();

export function chooseAll(files: readonly PatchFile[]): Choice {
  return new Map(files.map(({ path }) => [path, 'all']));
}

export function toggleFile(choice: Choice, file: PatchFile): Choice {
  const next = new Map(choice);
  if (next.get(file.path) === 'all') next.delete(file.path);
  else next.set(file.path, 'all');
  return next;
}

export function toggleHunk(choice: Choice, file: PatchFile, hunk: number): Choice {
  const chosen = new Set(chosenHunks(choice, file));
  if (!chosen.delete(hunk)) chosen.add(hunk);
  const next = new Map(choice);
  if (chosen.size === 0) next.delete(file.path);
  else next.set(file.path, chosen.size === file.hunks.length ? 'all' : chosen);
  return next;
}

export function isHunkChosen(choice: Choice, path: string, hunk: number): boolean {
  const chosen = choice.get(path);
  return chosen === 'all' || chosen?.has(hunk) === true;
}

export function fileState(choice: Choice, path: string): 'none' | 'some' | 'all' {
  const chosen = choice.get(path);
  if (chosen === undefined) return 'none';
  return chosen === 'all' ? 'all' : 'some';
}

/** Undefined where everything is chosen: then the whole patch is applied, as it was sealed. The host counts hunks from 0. */
export function toOnly(choice: Choice, files: readonly PatchFile[]): ApplyChoice['only'] {
  if (files.every(({ path }) => choice.get(path) === 'all')) return undefined;
  return [...choice].map(([path, chosen]) =>
    chosen === 'all'
      ? { path }
      : { path, hunks: [...chosen].map((number) => number - 1).toSorted((a, b) => a - b) },
  );
}

function chosenHunks(choice: Choice, { path, hunks }: PatchFile): Iterable<number> {
  const chosen = choice.get(path);
  return chosen === 'all' ? hunks.map(({ number }) => number) : (chosen ?? []);
}
