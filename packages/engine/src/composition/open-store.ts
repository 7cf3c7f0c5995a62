/** The store of a project: a folder of its state and, if the configuration names a bucket, a copy of everything there. */
import { join } from 'node:path';
import type { Clock } from '@caisson/ground';
import { definedOnly } from '@caisson/protocol';
import type { ResolvedConfig } from '../config/index.ts';
import {
  openLocalStore,
  openMirroredStore,
  openS3Store,
  type MirroredStore,
  type Store,
} from '../store/index.ts';

export interface OpenedStore {
  readonly store: Store;
  /** The same store where it has a copy in a bucket. */
  readonly mirror: MirroredStore | null;
}

export function openStore(
  config: ResolvedConfig,
  clock: Clock,
  warn: (message: string) => void,
): OpenedStore {
  const folder = join(config.stateDir, 'store');
  const local = openLocalStore(folder);
  const { s3 } = config.store;
  if (s3 === undefined) return { store: local, mirror: null };
  const remote = openS3Store({
    bucket: s3.bucket,
    ...(s3.prefix === undefined ? {} : { prefix: s3.prefix.replace(/\/*$/, '/') }),
    ...definedOnly({ region: s3.region, endpoint: s3.endpoint }),
  });
  const mirror = openMirroredStore({ local, remote, marks: join(folder, 'unsent'), clock, warn });
  return { store: mirror, mirror };
}
