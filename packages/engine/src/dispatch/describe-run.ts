/** A run as its ledger tells it: the DispatchResult of 4-protocol. */
import {
  exitCodeOf,
  Result,
  type CheckpointRef,
  statusOfEnding,
  type DispatchResult,
  type EventData,
  type Failure,
  type ListedRisk,
  type Resolved,
  type RunBranch,
  type RunTotal,
} from '@caisson/protocol';
import type { RunRow, StoredEvent } from '../ledger/index.ts';
import type { DispatchRooms } from './rooms.ts';
import { RunNotFoundError } from './errors.ts';
import { findChangesOutsideScope } from './outside-scope.ts';

export async function describeRun(
  rooms: Pick<DispatchRooms, 'ledger' | 'store'>,
  runId: string,
  { withContents = true }: { withContents?: boolean } = {},
): Promise<DispatchResult> {
  const row = rooms.ledger.run(runId);
  if (row === null) throw new RunNotFoundError(runId);
  const events = rooms.ledger.read({ runId });
  const accepted = events.find((event) => event.type === 'dispatch.accepted');
  const ending = events.findLast((event) => event.type === row.ending);
  const result = withContents ? withUsage(await findResult(rooms, ending), ending) : null;
  const outsideScope = withContents ? await findChangesOutsideScope(rooms, events, ending) : [];
  const branch = ending?.data['branch'] as RunBranch | undefined;
  const { beside } = (ending?.data['checkpoint'] ?? {}) as Partial<CheckpointRef>;
  const resolved = accepted?.data['resolved'] as Resolved;
  const failure = ending?.data['failure'] as Failure | undefined;
  const total = ending?.data['total'] as RunTotal | undefined;
  return {
    runId,
    ...describeStatus(row, events, ending),
    ...(failure === undefined ? {} : { failure }),
    exitCode: findExitCode(ending, failure),
    durationMs: numberOf(ending?.data['durationMs']),
    ...(total === undefined ? {} : { total }),
    ...(row.costUsd === undefined ? {} : { costUsd: row.costUsd }),
    ...(row.costIsEstimate === true ? { costIsEstimate: true } : {}),
    stdout: await textOf(rooms, result?.logs.stdout.ref),
    stderr: await textOf(rooms, result?.logs.stderr.ref),
    reply: await textOf(rooms, result?.reply.ref),
    resolved: { ...resolved, model: { ...resolved.model, served: result?.usage?.models ?? [] } },
    result,
    ...(withContents && ending?.data['risky'] !== undefined
      ? { risky: ending.data['risky'] as ListedRisk[] }
      : {}),
    ...(beside === undefined || !withContents ? {} : { beside }),
    ...(outsideScope.length === 0 ? {} : { outsideScope }),
    ...(branch === undefined ? {} : { branch }),
    events: { count: events.length, lastSeq: events.at(-1)?.seq ?? 0 },
  };
}

/** As the events have it: an ending that asked is `answered` once another run continues it. */
function describeStatus(
  row: RunRow,
  events: readonly StoredEvent[],
  ending: StoredEvent | undefined,
): Pick<DispatchResult, 'status' | 'continuedBy'> {
  if (ending === undefined) return { status: row.status };
  const { failure, cause } = ending.data;
  const status = statusOfEnding(ending.type, failure as Failure | undefined, cause as string | undefined);
  const answered = events.find((event) => event.type === 'question.answered');
  if (status !== 'waiting' || answered === undefined) return { status };
  const { continuedBy } = answered.data as EventData['question.answered'];
  return { status: 'answered', ...(continuedBy === undefined ? {} : { continuedBy }) };
}

/** The worker seals what its agent told; the ending has what was counted in all. */
function withUsage(result: Result | null, ending: StoredEvent | undefined): Result | null {
  const usage = ending?.data['usage'] as Result['usage'];
  return result === null || usage === undefined ? result : { ...result, usage };
}

async function findResult(
  rooms: Pick<DispatchRooms, 'store'>,
  ending: StoredEvent | undefined,
): Promise<Result | null> {
  const ref = ending?.data['resultRef'];
  if (typeof ref !== 'string') return null;
  return Result.parse(JSON.parse((await rooms.store.getBlob(ref)).toString('utf8')));
}

async function textOf(rooms: Pick<DispatchRooms, 'store'>, ref: string | undefined): Promise<string> {
  return ref === undefined ? '' : (await rooms.store.getBlob(ref)).toString('utf8');
}

/** Endings of earlier versions tell 0 for failures, too. */
function findExitCode(ending: StoredEvent | undefined, failure: Failure | undefined): number | null {
  const told = ending?.data['exitCode'];
  return exitCodeOf(failure === undefined ? 'finished' : 'failed', typeof told === 'number' ? told : null);
}

function numberOf(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}
