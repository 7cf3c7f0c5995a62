import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Engine } from '../engine.ts';
import { resolveRunId } from './resolve-run-id.ts';
import { exportHere } from './verify-here.ts';

/** The proof of a run as one file, for a reader that has no folder here. */
export async function readExport(engine: Engine, run: string): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), 'caisson-export-'));
  try {
    const file = join(folder, 'export');
    await exportHere(engine, resolveRunId(engine.ledger, run), file);
    return await readFile(file);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
