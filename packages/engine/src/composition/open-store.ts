/** The store of a project: a folder of its state and, if the configuration names a bucket, a copy of everything there. */
import { join } from 'node:path';
import type { Clock } from '@caisson/ground';
import type { ResolvedConfig } from '../config/index.ts';
import { openLocalStore, openMirroredStore, openS3Store, type Store } from '../store/index.ts';

export function openStore(config: ResolvedConfig, clock: Clock, warn: (message: string) => void): Store {
  const local = openLocalStore(join(config.stateDir, 'store'));
  const { s3 } = config.store;
  if (s3 === undefined) return local;
  const remote = openS3Store({
    bucket: s3.bucket,
    ...(s3.prefix === undefined ? {} : { prefix: s3.prefix.replace(/\/*$/, '/') }),
    ...(s3.region === undefined ? {} : { region: s3.region }),
    ...(s3.endpoint === undefined ? {} : { endpoint: s3.endpoint }),
  });
  return openMirroredStore({ local, remote, warn, now: () => clock.wallMs() });
}
