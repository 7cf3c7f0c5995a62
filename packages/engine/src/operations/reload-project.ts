/** What `caisson reload` does in a daemon: the configuration is read again, and what has changed is reported. */
import type { ReloadReport } from '@caisson/protocol';
import type { OpenedHost } from '../composition/open-here.ts';
import type { ResolvedConfig } from '../config/index.ts';
import type { SystemdNotifier } from '../daemon/index.ts';
import type { DaemonFace } from './daemon-face.ts';
import { describeMissing } from './missing-files.ts';
import type { ServedResidents } from './serve-residents.ts';

/**
 * Runs read the files when they are accepted, so most of it counts from the next run on. What the daemon itself was opened
 * with stays until it is started again.
 */
export const OPENED_WITH = [
  'api',
  'budget',
  'callbacks',
  'evidence',
  'keys',
  'limits.trash',
  'questions',
  'state',
  'store',
  'telemetry',
];

export async function reloadProject(
  { reloadConfig, changedSinceOpened }: Pick<OpenedHost, 'reloadConfig' | 'changedSinceOpened'>,
  notifier: SystemdNotifier,
  { residents, face }: { residents: ServedResidents; face: Pick<DaemonFace, 'renew'> },
): Promise<ReloadReport> {
  notifier.reloading();
  const problem = face.renew(); // also where the configuration cannot be read
  try {
    let replaced: readonly string[] = [];
    let missing: readonly string[] = [];
    const changes = await reloadConfig(async (next) => {
      replaced = await residents.reload(next);
      missing = listMissing(next);
    });
    const warnings = [...(problem === null ? [] : [problem]), ...missing];
    // Also of an earlier reload: it has no effect until the next daemon.
    const needsRestart = changedSinceOpened()
      .map(({ key }) => key)
      .filter(isOpenedWith);
    return {
      changes: [...changes],
      needsRestart,
      ...(replaced.length === 0 ? {} : { residents: [...replaced] }),
      ...(warnings.length === 0 ? {} : { warnings }),
    };
  } finally {
    notifier.ready();
  }
}

/** They are declared all the same: a file may come later. */
function listMissing({ projectRoot, senses, workflows }: ResolvedConfig): string[] {
  return Object.entries({ senses, workflows }).flatMap(([kind, members]) =>
    Object.values(members).flatMap(({ name, file }) => {
      const missing = describeMissing(projectRoot, file);
      return missing === null ? [] : [`${kind}.${name}: ${missing}`];
    }),
  );
}

function isOpenedWith(key: string): boolean {
  return OPENED_WITH.some((part) => key === part || key.startsWith(`${part}.`));
}
