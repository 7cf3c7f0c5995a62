/** A private index for one piece of work in our git dir. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';

let count = 0;

export function useIndex(gitDir: string): string {
  return join(gitDir, `scratch.${process.pid}.${(count += 1)}`);
}

export async function removeIndex(indexFile: string): Promise<void> {
  await Promise.all([rm(indexFile, { force: true }), rm(`${indexFile}.lock`, { force: true })]);
}
