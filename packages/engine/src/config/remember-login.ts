/** Writes into the user's own file that runs of a runtime use the user's log-in; everything else in it stays. */
import { existsSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder, readFileCapped, withFileLock, writeFileAtomic } from '@caisson/ground';
import type { UserFolders } from './contract.ts';
import { readUserConfig, USER_CONFIG_FILE_NAME } from './user-config.ts';

const MAX_BYTES = 1024 * 1024;

export async function rememberLogin(folders: UserFolders, runtime: string): Promise<void> {
  makeFolder(folders.config);
  const named = join(folders.config, USER_CONFIG_FILE_NAME);
  await withFileLock(`${named}.lock`, async () => {
    // Refuses a file that is not this user's, or not a configuration.
    const known = await readUserConfig(folders);
    if (known?.file.runtimes?.[runtime]?.login === 'mount') return;
    const path = existsSync(named) ? realpathSync(named) : named;
    const { parseDocument } = await import('./yaml-parser.ts');
    const text = known === null ? '' : (await readFileCapped(path, MAX_BYTES)).toString('utf8');
    const document = parseDocument(text);
    document.setIn(['runtimes', runtime, 'login'], 'mount');
    await writeFileAtomic(path, document.toString());
  });
}
