/**
 * What the agent prints, as it prints it, until the run has ended; attempt after attempt. It is read from the spool, which
 * every process of the user can read, four times a second: an event for each growth would be work of the host for nothing.
 */
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { ifErrno } from '@caisson/ground';
import { attemptPaths } from '../attempt/index.ts';
import { readResult } from '../dispatch/index.ts';
import type { Engine } from '../engine.ts';
import { createWait } from './follow-run.ts';
import { readFrom } from './read-from.ts';
import type { LogName } from './read-run-log.ts';
import { requireRemembered } from './run-forgotten.ts';

export async function* followRunLog(
  engine: Engine,
  runId: string,
  name: LogName,
  options: { signal?: AbortSignal } = {},
): AsyncGenerator<Buffer> {
  if (engine.ledger.run(runId)?.ending !== undefined) {
    return yield* readEnded(engine, runId, name);
  }
  let attempt = 1;
  let offset = 0;
  const wait = createWait(engine, options.signal);
  while (options.signal?.aborted !== true) {
    // Read before the bytes: what was printed before that is then complete.
    const row = engine.ledger.run(runId);
    const chunk = readFrom(join(attemptPaths(engine.config.stateDir, runId, attempt).spool, name), offset);
    if (chunk !== null && chunk.length > 0) {
      offset += chunk.length;
      yield chunk;
    } else if (row !== null && row.attempt > attempt) {
      attempt += 1;
      offset = 0;
    } else if (row?.ending !== undefined) {
      // The host has cleaned up meanwhile: what it printed last is in the record.
      if (chunk === null) yield* readSealed(engine, runId, name, offset);
      return;
    } else await wait();
  }
}

/** What `readRunLog` has, piece by piece: it may be larger than the memory. */
async function* readEnded(engine: Engine, runId: string, name: LogName): AsyncGenerator<Buffer, void> {
  requireRemembered(engine, runId);
  const attempt = engine.ledger.run(runId)?.attempt ?? 0;
  const path = join(attemptPaths(engine.config.stateDir, runId, attempt).spool, name);
  const spool = await open(path).catch(ifErrno(null, 'ENOENT'));
  if (spool === null) yield* readSealed(engine, runId, name, 0);
  else yield* spool.createReadStream() as AsyncIterable<Buffer>;
}

async function* readSealed(
  engine: Engine,
  runId: string,
  name: LogName,
  offset: number,
): AsyncGenerator<Buffer, void> {
  const result = await readResult(engine.rooms, runId);
  if (result === null) return;
  let toSkip = offset;
  for await (const part of (await engine.store.openBlob(result.logs[name].ref)) as AsyncIterable<Buffer>) {
    const rest = part.subarray(toSkip);
    toSkip = Math.max(0, toSkip - part.length);
    if (rest.length > 0) yield rest;
  }
}
