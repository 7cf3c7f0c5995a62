import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isErrno } from '@caisson/ground';
import { attemptPaths } from '../attempt/index.ts';
import { readResult } from '../dispatch/index.ts';
import type { Engine } from '../engine.ts';
import { requireRemembered } from './run-forgotten.ts';

export type LogName = 'stdout' | 'stderr';

/** What the agent of the newest attempt printed: from its spool if there is one, else from the sealed record. */
export async function readRunLog(engine: Engine, runId: string, name: LogName): Promise<Buffer> {
  requireRemembered(engine, runId);
  const attempt = engine.ledger.run(runId)?.attempt ?? 0;
  const spool = join(attemptPaths(engine.config.stateDir, runId, attempt).spool, name);
  try {
    return await readFile(spool);
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error; // deleted since its run has ended
  }
  const result = await readResult(engine.rooms, runId);
  return result === null ? Buffer.alloc(0) : engine.store.getBlob(result.logs[name].ref);
}
