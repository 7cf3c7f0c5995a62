import { join } from 'node:path';
import { makeFolder } from '@caisson/ground';
import type { UserFolders } from '../config/index.ts';

/**
 * Where workers keep their compiled code, or null if no folder can be made. It is made here because Node would retry
 * for ever in a folder below a read-only one (/proc).
 */
export function prepareCompileCache({ cache }: Pick<UserFolders, 'cache'>): string | null {
  const folder = join(cache, 'compile');
  try {
    makeFolder(folder);
    return folder;
  } catch {
    return null; // a cache: without one a start is slower, and nothing else changes
  }
}
