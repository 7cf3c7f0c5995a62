/**
 * What the agent prints, as it prints it, until the run has ended; attempt after attempt. It is read from the spool, which
 * every process of the user can read, four times a second: an event for each growth would be work of the host for nothing.
 */
import { join } from 'node:path';
import { attemptPaths } from '../attempt/index.ts';
import type { Engine } from '../engine.ts';
import { createWait } from './follow-run.ts';
import { readFrom } from './read-from.ts';
import { readRunLog, type LogName } from './read-run-log.ts';

export async function* followRunLog(
  engine: Engine,
  runId: string,
  name: LogName,
  options: { signal?: AbortSignal } = {},
): AsyncGenerator<Buffer> {
  if (engine.ledger.run(runId)?.ending !== undefined) {
    yield await readRunLog(engine, runId, name);
    return;
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
      if (chunk === null) yield (await readRunLog(engine, runId, name)).subarray(offset);
      return;
    } else await wait();
  }
}
