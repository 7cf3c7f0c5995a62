/** What an installation is about to do, on disk before it begins: whoever comes after a crash can undo it. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { isErrno, writeFileAtomic } from '@caisson/ground';
import * as z from 'zod/mini';

import { parentOf } from './work-file.ts';

const InstallEntry = z.object({
  /** Bytes in Latin-1: names need not be UTF-8. */
  path: z.string(),
  /** Whether something was there; then it is kept under the entry's number. */
  wasThere: z.boolean(),
  /** SHA-1 as git counts it of what is put there; null when the path goes. */
  after: z.nullable(z.string()),
});

const InstallPlan = z.object({
  schemaVersion: z.literal(1),
  root: z.string(),
  entries: z.array(InstallEntry),
});
export type InstallPlan = z.infer<typeof InstallPlan>;
export type InstallEntry = z.infer<typeof InstallEntry>;

const PLAN = 'plan.json';

export const planFile = (folder: string): string => join(folder, PLAN);

export async function writePlan(folder: string, plan: InstallPlan): Promise<void> {
  await writeFileAtomic(planFile(folder), JSON.stringify(plan));
}

/** Null when nothing had been touched, or everything was done. */
export async function readPlan(folder: string): Promise<InstallPlan | null> {
  try {
    return InstallPlan.parse(JSON.parse(await readFile(planFile(folder), 'utf8')));
  } catch (error) {
    if (isErrno(error, 'ENOENT') || isErrno(error, 'ENOTDIR')) return null;
    throw error;
  }
}

export const pathOf = (entry: InstallEntry): Buffer => Buffer.from(entry.path, 'latin1');

/** Where the old content of the entry with this number is. */
export const keptName = (folder: string, index: number): Buffer =>
  Buffer.from(join(folder, 'kept', `${index}`));

/** Beside the target, for content that comes from another file system; known, so that it can be found again. */
export function besideOf(folder: string, target: Buffer, index: number): Buffer {
  const unique = folder.slice(folder.lastIndexOf('-') + 1);
  return Buffer.concat([parentOf(target), Buffer.from(`/.caisson-${unique}-${index}.tmp`)]);
}
