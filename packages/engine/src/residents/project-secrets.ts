/** Files in a project that hold passwords by habit. Code that stays needs none of them, and may be granted hosts. */
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CREDENTIAL_PATHS } from '@caisson/protocol';

/** A remote's address in it may contain a password. */
const GIT_FILES = ['.git/config', '.git/config.worktree', '.git/credentials'];

/** Those that are there now: at the top of the project, and the settings of a repository that it is in. */
export function listProjectSecrets(projectRoot: string): string[] {
  const settings = readdirSync(projectRoot).filter((name) => name === '.env' || name.startsWith('.env.'));
  const inProject = [...settings, ...CREDENTIAL_PATHS].map((path) => join(projectRoot, path));
  const ofGit = listParents(projectRoot).flatMap((folder) => GIT_FILES.map((path) => join(folder, path)));
  return [...new Set([...inProject, ...ofGit])].filter((path) => existsSync(path));
}

function listParents(folder: string): string[] {
  const parent = dirname(folder);
  return parent === folder ? [folder] : [folder, ...listParents(parent)];
}
