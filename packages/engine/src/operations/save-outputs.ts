/** Copies what a run left in `outputs/` to a folder of the user: all of it or nothing, and never over a file. */
import { createWriteStream, mkdirSync, rmSync } from 'node:fs';
import { dirname, join, normalize, relative, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { findStats, leavesFolder } from '@caisson/ground';
import { CaissonError, type OutputFile } from '@caisson/protocol';
import { describeRun } from '../dispatch/index.ts';
import type { Engine } from '../engine.ts';
import { requireRemembered } from './run-forgotten.ts';

/** The outputs cannot be put there. */
export class OutputsRefusedError extends CaissonError {
  readonly code = 'OUTPUTS_REFUSED';
}

const ROOT = 'outputs';

/** Returns the paths that were written, relative to the folder. */
export async function saveOutputs(engine: Engine, runId: string, to: string): Promise<readonly string[]> {
  requireRemembered(engine, runId);
  const { result } = await describeRun(engine.rooms, runId);
  const folder = resolve(to);
  const plan = (result?.outputs ?? []).map((output) => ({ output, path: pathOf(output) }));
  for (const { path } of plan) requireFree(folder, path);
  const written: string[] = [];
  try {
    for (const { output, path } of plan) {
      const target = join(folder, path);
      mkdirSync(dirname(target), { recursive: true });
      const content = await engine.store.openBlob(output.ref);
      const file = createWriteStream(target, { flags: 'wx' });
      file.once('open', () => written.push(path));
      await pipeline(content, file);
    }
  } catch (error) {
    for (const path of written) rmSync(join(folder, path), { force: true });
    throw error;
  }
  return written;
}

/** The names are the agent's. */
function pathOf({ path }: OutputFile): string {
  const inside = relative(ROOT, normalize(path));
  if (inside !== '' && !leavesFolder(inside) && !inside.includes('\0')) return inside;
  throw new OutputsRefusedError(`the output ${JSON.stringify(path)} has a path outside of ${ROOT}/`);
}

/** Nothing is replaced, and no link on the way is followed. */
function requireFree(folder: string, path: string): void {
  const parts = path.split('/');
  for (const [index] of parts.entries()) {
    const place = join(folder, ...parts.slice(0, index + 1));
    const stats = findStats(place);
    if (stats === null) return;
    if (index < parts.length - 1 && stats.isDirectory()) continue;
    throw new OutputsRefusedError(`${place} exists already, and nothing is replaced`, {
      remedy: 'Name an empty or a new folder with --to.',
    });
  }
}
