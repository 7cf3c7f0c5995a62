import { CaissonError, definedOnly, type LiveRun, type WaitsFor } from '@caisson/protocol';
import type { Engine } from '../engine.ts';
import { DEFAULT_POOL, type RunFilter, type RunRow } from '../ledger/index.ts';
import { findDoneWork } from './find-check-passed.ts';
import { findLive, findWaiting } from './live-runs.ts';
import { resolveRunId } from './resolve-run-id.ts';

/** A list cannot be made as it was asked for. */
export class InvalidFilterError extends CaissonError {
  readonly code = 'INVALID_FILTER';
  override readonly remedy = 'Times are in the form of RFC 3339: 2026-01-31T12:00:00Z.';
}

/** A run as `caisson runs` lists it. */
export interface ListedRun extends RunRow {
  /** Of a queued run: how many it waits behind, itself included. Absent once it has its slot and is prepared. */
  readonly position?: number;
  /** Whether the check of its work passed; absent where there was none. */
  readonly checkPassed?: boolean;
  /** Whether it left work to take; absent until it is done. */
  readonly hasWork?: boolean;
  /** How far it is; absent once it has ended. */
  readonly live?: LiveRun;
  /** What it waits for a person to say. */
  readonly waitsFor?: WaitsFor;
}

export async function listRuns(engine: Engine, filter: RunFilter = {}): Promise<ListedRun[]> {
  const rows = await engine.ledger.searchRuns({
    ...filter,
    ...definedOnly({
      since: toRecordedForm('since', filter.since),
      until: toRecordedForm('until', filter.until),
      after: filter.after === undefined ? undefined : resolveRunId(engine.ledger, filter.after),
    }),
  });
  const live = await findLive(engine, rows);
  const positionOf = createPositions(engine);
  return rows.map((row) => ({
    ...row,
    ...definedOnly({
      position: positionOf(row),
      live: live.get(row.runId),
      ...findDoneWork(engine.ledger, row),
      waitsFor: findWaiting(engine, row) ?? undefined,
    }),
  }));
}

/** Times are compared as text, in the one form that the rows have. */
function toRecordedForm(name: string, time: string | undefined): string | undefined {
  if (time === undefined) return undefined;
  const ms = Date.parse(time);
  if (Number.isNaN(ms)) throw new InvalidFilterError(`${name}: "${time}" is not a time`);
  return new Date(ms).toISOString();
}

function createPositions({ ledger, clock }: Engine): (row: RunRow) => number | undefined {
  const queues = new Map<string, ReadonlyMap<string, number>>();
  return ({ status, pool = DEFAULT_POOL, runId }) => {
    if (status !== 'queued') return undefined;
    const queue = queues.get(pool) ?? toPositions(ledger.leases.listQueue(pool, clock.wallMs()));
    queues.set(pool, queue);
    return queue.get(runId);
  };
}

function toPositions(queue: readonly { readonly runId: string }[]): ReadonlyMap<string, number> {
  return new Map(queue.map(({ runId }, index) => [runId, index + 1]));
}
