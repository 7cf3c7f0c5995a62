/**
 * The record of what this user agreed to: `trust.json` in the user's state folder, by the project's real path. A record
 * that others could have written does not count.
 */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder, withFileLock, writeFileAtomic } from '@caisson/ground';
import * as z from 'zod/mini';
import type { TrustRecord } from './contract.ts';
import { TrustStoreError } from './errors.ts';

const MAX_BYTES = 16 * 1024 * 1024;
const WRITABLE_BY_OTHERS = 0o022;

const TrustFile = z.object({
  version: z.literal(1),
  projects: z.record(
    z.string(),
    z.object({
      digest: z.string(),
      grantedAt: z.string(),
      lines: z.array(z.string()),
      sends: z.array(z.object({ credential: z.string(), to: z.string() })),
      parts: z.optional(z.object({ residents: z.array(z.string()), rest: z.string() })),
    }),
  ),
});
type TrustFile = z.infer<typeof TrustFile>;

export interface TrustStore {
  readonly file: string;
  find(projectRoot: string): TrustRecord | null;
  put(projectRoot: string, record: TrustRecord): Promise<void>;
  /** False where there was none. */
  remove(projectRoot: string): Promise<boolean>;
}

export function openTrustStore(folder: string): TrustStore {
  const file = join(folder, 'trust.json');
  // Read in this thread: starting a thread for a small file costs every command more than the file.
  const read = (): TrustFile => (isOurs(folder, file) ? parse(file) : { version: 1, projects: {} });
  const change = async <T>(edit: (projects: TrustFile['projects']) => T): Promise<T> => {
    try {
      makeFolder(folder);
      return await withFileLock(`${file}.lock`, async () => {
        const { projects } = read();
        const result = edit(projects);
        await writeFileAtomic(file, `${JSON.stringify({ version: 1, projects }, null, 2)}\n`);
        return result;
      });
    } catch (error) {
      throw error instanceof TrustStoreError ? error : TrustStoreError.unwritable(file, error as Error);
    }
  };
  return {
    file,
    find(projectRoot) {
      const { projects } = read();
      return Object.hasOwn(projects, projectRoot) ? (projects[projectRoot] ?? null) : null;
    },
    put: (projectRoot, record) =>
      change((projects) => {
        const { parts } = record;
        projects[projectRoot] = {
          ...{ digest: record.digest, grantedAt: record.grantedAt },
          ...{ lines: [...record.lines], sends: [...record.sends] },
          ...(parts === undefined ? {} : { parts: { ...parts, residents: [...parts.residents] } }),
        };
      }),
    remove: (projectRoot) =>
      change((projects) => Object.hasOwn(projects, projectRoot) && delete projects[projectRoot]),
  };
}

/** False where there is no record yet. */
function isOurs(folder: string, file: string): boolean {
  const info = statSync(file, { throwIfNoEntry: false });
  if (info === undefined) return false;
  if (!info.isFile() || info.size > MAX_BYTES)
    throw TrustStoreError.torn(file, new Error(`not a file of at most ${MAX_BYTES} bytes`));
  const uid = process.getuid?.() ?? info.uid;
  for (const [path, { uid: owner, mode }] of [[file, info] as const, [folder, statSync(folder)] as const]) {
    if (owner !== uid) throw TrustStoreError.foreign(path);
    if ((mode & WRITABLE_BY_OTHERS) !== 0) throw TrustStoreError.open(path);
  }
  return true;
}

function parse(file: string): TrustFile {
  try {
    return TrustFile.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch (error) {
    throw TrustStoreError.torn(file, error as Error);
  }
}
