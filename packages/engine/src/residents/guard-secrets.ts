/**
 * The kernel removes the mount that hides a file when that file is replaced, and what is made later was never hidden. A run is
 * over soon; a resident stays, so its process is ended at once, and the next one does not see the file.
 */
import { watch } from 'node:fs';
import type { Residents } from './contract.ts';
import { listSecretPlaces } from './project-secrets.ts';

const RUNNING: ReadonlySet<string> = new Set(['starting', 'ready', 'draining']);

export function guardSecrets(
  residents: Residents,
  { projectRoot, warn }: { readonly projectRoot: string; warn(message: string): void },
): Residents {
  let stopWatching = watchSecrets(projectRoot, onChanged, warn);
  let isStopped = false;
  function onChanged(): void {
    if (isStopped) return;
    for (const { key, state } of residents.residents())
      if (RUNNING.has(state))
        residents.restart(key).catch((error: unknown) => warn(`${key}: ${(error as Error).message}`));
    stopWatching(); // a folder may have come
    stopWatching = watchSecrets(projectRoot, onChanged, warn);
  }
  return {
    ...residents,
    stop() {
      isStopped = true;
      stopWatching();
      return residents.stop();
    },
  };
}

function watchSecrets(
  projectRoot: string,
  onChanged: () => void,
  warn: (message: string) => void,
): () => void {
  const report = (error: Error): void =>
    warn(
      `files with passwords that are replaced are visible to residents until they start again: ${error.message}`,
    );
  const open = ({ folder, isSecret }: ReturnType<typeof listSecretPlaces>[number]) => {
    try {
      // What is written in place stays hidden.
      const watching = watch(folder, { persistent: false }, (event, name) => {
        if (event === 'rename' && (name === null || isSecret(name))) onChanged();
      });
      return [watching.on('error', report)];
    } catch (error) {
      report(error as Error);
      return [];
    }
  };
  const watches = listSecretPlaces(projectRoot).flatMap(open);
  return () => {
    for (const each of watches) each.close();
  };
}
