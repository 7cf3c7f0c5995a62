/** Removes what nothing refers to any more. Work that is not saved is never touched. */
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Engine } from '../engine.ts';

const DAY_MS = 86_400_000;

export interface GarbageReport {
  readonly blobs: number;
  readonly bytes: number;
  readonly results: number;
  readonly spools: number;
  readonly workspaces: readonly string[];
}

export interface GarbageOptions {
  /** Blobs and spools younger than this are kept. Default one day. */
  readonly graceMs?: number;
  /** Trashed workspaces older than this are deleted. Default seven days. */
  readonly trashTtlMs?: number;
}

export async function collectGarbage(engine: Engine, options: GarbageOptions = {}): Promise<GarbageReport> {
  const graceMs = options.graceMs ?? DAY_MS;
  const { stateDir } = engine.config;
  const swept = await engine.store.gc(listRoots(engine), { graceMs });
  const { deleted } = await engine.workspaces.gc({ stateDir, trashTtlMs: options.trashTtlMs ?? 7 * DAY_MS });
  return {
    blobs: swept.removedBlobs,
    bytes: swept.removedBytes,
    results: await sweepFolder(engine, join(stateDir, 'runtime', 'results'), DAY_MS),
    spools: await sweepFolder(engine, join(stateDir, 'runtime', 'spool'), graceMs),
    workspaces: deleted,
  };
}

/** Result files are removed a day after the ledger holds them; every host start does that. */
export function sweepResults(engine: Engine): Promise<number> {
  return sweepFolder(engine, join(engine.config.stateDir, 'runtime', 'results'), DAY_MS);
}

/** Every sha256 that an event names, and those that the results of runs name. */
function listRoots(engine: Engine): Set<string> {
  const roots = new Set<string>();
  const forgotten = new Set(engine.ledger.kv.list('forgotten').map((entry) => entry.key));
  for (const event of engine.ledger.read()) {
    if (event.runId !== null && forgotten.has(event.runId)) continue;
    for (const digest of JSON.stringify(event.data).matchAll(/\b[0-9a-f]{64}\b/g)) roots.add(digest[0]);
  }
  for (const entry of engine.ledger.kv.list('roots')) roots.add(entry.key);
  return roots;
}

async function sweepFolder(engine: Engine, folder: string, olderThanMs: number): Promise<number> {
  let names: string[];
  try {
    names = await readdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
    throw error;
  }
  let removed = 0;
  for (const name of names) {
    const runId = name.slice(0, name.indexOf('.'));
    if (engine.ledger.run(runId)?.ending === undefined) continue;
    const path = join(folder, name);
    if (engine.clock.wallMs() - (await stat(path)).mtimeMs < olderThanMs) continue;
    await rm(path, { recursive: true, force: true });
    removed += 1;
  }
  return removed;
}
