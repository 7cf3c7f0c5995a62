/**
 * Removes what an agent may have made. It may have removed its own rights (tools that keep read-only caches do), or
 * nested folders deeper than any path can be: then the system's own tools, which walk instead of naming, do it.
 */
import { rm } from 'node:fs/promises';

import { MINIMAL_COMMAND_ENV, runBounded } from '../processes/index.ts';
import { isErrno } from '../platform/index.ts';

const LIMIT_MS = 600_000;
const OUTPUT_BYTES = 64 * 1024;
const STUBBORN = ['EACCES', 'EPERM', 'ENAMETOOLONG', 'ENOTEMPTY', 'ENFILE', 'EMFILE'];

/** The path does not exist afterwards, or it throws. Links are removed, never followed. */
export async function removeTree(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true });
  } catch (error) {
    if (!STUBBORN.some((code) => isErrno(error, code))) throw error;
    await run('chmod', ['-R', 'u+rwX', '--', path]); // rm will name what it cannot change
    const { exitCode, stderr } = await run('rm', ['-rf', '--', path]);
    if (exitCode !== 0) throw new Error(`${path} could not be removed: ${stderr}`, { cause: error });
  }
}

async function run(file: string, args: string[]): Promise<{ exitCode: number | null; stderr: string }> {
  const { exitCode, stderr } = await runBounded({
    file,
    args,
    cwd: '/',
    env: { ...MINIMAL_COMMAND_ENV },
    timeoutMs: LIMIT_MS,
    maxOutputBytes: OUTPUT_BYTES,
  });
  return { exitCode, stderr: stderr.toString('utf8').slice(0, 1000).trim() };
}
