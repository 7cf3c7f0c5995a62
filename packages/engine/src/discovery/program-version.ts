import { definedOnly } from '@caisson/protocol';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runBounded } from '@caisson/ground';
import {
  findFolderOf,
  findRepositoryFolders,
  withoutFoldersOf,
  type ProjectPlace,
} from './repository-programs.ts';

const TIMEOUT_MS = 15_000;
const MAX_OUTPUT_BYTES = 64 * 1024;

export interface VersionAnswer {
  readonly version: string | null;
  /** Why there is no version, if so. */
  readonly problem: string | null;
}

/**
 * Asks a program for its version. It runs with its own HOME that is removed afterwards, because several agent programs
 * write to HOME even for `--version`. Starts no file of the repository, and no interpreter that lies in it.
 */
export async function askVersion(
  file: string,
  args: readonly string[],
  options: {
    searchPath: string | undefined;
    /** Null for a program that is looked up in folders of the system only. */
    project: ProjectPlace | null;
    signal?: AbortSignal | undefined;
  },
): Promise<VersionAnswer> {
  const repository = options.project === null ? null : findRepositoryFolders(options.project);
  const folder = repository === null ? null : findFolderOf(repository, file);
  if (folder !== null)
    return {
      version: null,
      problem: `not asked for its version: it lies in ${folder}, whose files only a sandbox starts`,
    };
  const home = await mkdtemp(join(tmpdir(), 'caisson-probe-'));
  try {
    const result = await runBounded({
      file,
      args,
      cwd: home,
      env: {
        PATH: withoutFoldersOf(repository, options.searchPath ?? '/usr/bin:/bin'),
        HOME: home,
        TMPDIR: home,
        NO_COLOR: '1',
        CI: '1',
        LC_ALL: 'C',
      },
      timeoutMs: TIMEOUT_MS,
      maxOutputBytes: MAX_OUTPUT_BYTES,
      ...definedOnly({ signal: options.signal }),
    });
    const version = findVersion(result.stdout.toString()) ?? findVersion(result.stderr.toString());
    if (version !== null) return { version, problem: null };
    if (result.timedOut)
      return { version, problem: `did not answer ${args.join(' ')} within ${TIMEOUT_MS / 1000} s` };
    const said = firstLine(result.stderr.toString()) || firstLine(result.stdout.toString());
    const how =
      result.exitCode === 0 ? 'reports no version' : `ended with ${result.exitCode ?? result.signal}`;
    return { version, problem: `${args.join(' ')} ${how}${said === '' ? '' : `: ${said}`}` };
  } catch (error) {
    return { version: null, problem: error instanceof Error ? error.message : String(error) };
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

const firstLine = (text: string): string => text.trim().split('\n', 1)[0]?.slice(0, 200) ?? '';

/** The first part of a text that looks like a version. */
export function findVersion(text: string): string | null {
  return /(?<![\d.])\d+\.\d+(?:\.\d+)?(?:-[0-9A-Za-z.]+)?/.exec(text)?.[0] ?? null;
}

/** Below 0, 0 or above 0, by the numbers of the version; what follows a dash is not compared. */
export function compareVersions(a: string, b: string): number {
  const numbers = (version: string): number[] => (version.split('-')[0] ?? '').split('.').map(Number);
  const [left, right] = [numbers(a), numbers(b)];
  for (let index = 0; index < Math.max(left.length, right.length); index += 1) {
    const difference = (left[index] ?? 0) - (right[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
