/** The plan of an installation, on disk before it begins: a later process can undo it after a crash. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';

import { isErrno, writeFileAtomic, type Stamp } from '@caisson/ground';
import * as z from 'zod/mini';

import { parentOf } from './work-file.ts';

const InstallEntry = z.object({
  /** Bytes in Latin-1: names need not be UTF-8. */
  path: z.string(),
  /** Whether the path existed; then its content is kept under the entry's number. */
  wasThere: z.boolean(),
  /** SHA-1 as git computes it of the new content; null when the path is removed. */
  after: z.nullable(z.string()),
});

const InstallPlan = z.object({
  schemaVersion: z.literal(2),
  root: z.string(),
  /** Where the plan's folder is, relative to the root: so a moved project is recognised. */
  place: z.string(),
  entries: z.array(InstallEntry),
});
export type InstallPlan = z.infer<typeof InstallPlan>;
export type InstallEntry = z.infer<typeof InstallEntry>;

const PLAN = 'plan.json';

export const planFile = (folder: string): string => join(folder, PLAN);

export const hasPlan = (folder: string): boolean => existsSync(planFile(folder));

export function createPlan(folder: string, root: string, entries: InstallEntry[]): InstallPlan {
  return { schemaVersion: 2, root, place: relative(root, folder), entries };
}

export async function writePlan(folder: string, plan: InstallPlan, stamp: Stamp): Promise<void> {
  await writeFileAtomic(planFile(folder), stamp.wrap(purposeOf(folder), JSON.stringify(plan)));
}

/**
 * The plan as it may be undone: for the project at `root` and for no other place. Null when nothing had been touched,
 * or everything was done; `foreign` when it is not our plan, or one for another project.
 */
export async function readPlan(
  folder: string,
  { root, stamp }: { readonly root: string; readonly stamp: Stamp },
): Promise<InstallPlan | 'foreign' | null> {
  try {
    const text = stamp.unwrap(purposeOf(folder), await readFile(planFile(folder), 'utf8'));
    if (text === null) return 'foreign';
    const plan = InstallPlan.parse(JSON.parse(text));
    const hasMovedAlong = plan.place === relative(root, folder) && !plan.place.startsWith('..');
    return plan.root === root || hasMovedAlong ? { ...plan, root } : 'foreign';
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) return null;
    throw error;
  }
}

/** A plan is valid only for its own folder, which has the contents that it names by number. */
function purposeOf(folder: string): string {
  return `apply-plan:${basename(folder)}`;
}

export const pathOf = (entry: InstallEntry): Buffer => Buffer.from(entry.path, 'latin1');

/** Where the old content of the entry with this number is. */
export const keptName = (folder: string, index: number): Buffer =>
  Buffer.from(join(folder, 'kept', `${index}`));

/** Beside the target, for content from another file system; a known name, so that it can be found again. */
export function besideOf(folder: string, target: Buffer, index: number): Buffer {
  const unique = folder.slice(folder.lastIndexOf('-') + 1);
  return Buffer.concat([parentOf(target), Buffer.from(`/.caisson-${unique}-${index}.tmp`)]);
}
