/** Stage 5: follows one worker. Its lines become our events; its requests are answered; its spending is counted. */
import { isDeepStrictEqual } from 'node:util';
import {
  STEPS,
  type DataOf,
  type DurableType,
  type Failure,
  type ObservedUsage,
  type SessionResume,
  type Usage,
  type WorkerHeader,
  type WorkerLine,
} from '@caisson/protocol';
import { supervise, type Supervision, type WorkerEnd } from '../supervision/index.ts';
import type { WorkerProcess } from '../compute/index.ts';
import type { AdmittedRun, DispatchRooms } from '../admission/index.ts';
import type { PreparedAttempt } from './prepare.ts';
import type { Emit, RunRecord } from '../ledger/index.ts';
import { attachStreams } from './attach-streams.ts';
import { watchUsage } from './watch-usage.ts';
import { createWorkRecord } from './work-record.ts';
import { passOn } from './worker-lines.ts';

export interface FollowedAttempt {
  readonly supervision: Supervision;
  readonly ended: Promise<WorkerEnd>;
  hasStarted(): boolean;
  /** What the broker saw of the model, by the worker's newest line; null if it saw none. */
  seen(): ObservedUsage | null;
  /** The usage by all reports; `reported` is the result's own figure. */
  countUsage(reported?: Usage): Usage | undefined;
  /**
   * The conversation that another attempt can continue; `reported` is the result's own value, a worker that died wrote
   * none.
   */
  findConversation(reported?: SessionResume): SessionResume | undefined;
  /** Nothing more will come of the agent and its model. */
  closeWork(): void;
  /** Resolves when the person who reads along has everything. */
  readonly delivered: Promise<void>;
}

export function follow(
  rooms: DispatchRooms,
  run: AdmittedRun,
  record: RunRecord,
  prepared: PreparedAttempt,
  worker: WorkerProcess,
): FollowedAttempt {
  const { attempt } = prepared;
  let hasStarted = false;

  const keep = <T extends DurableType>(type: T, data: DataOf<T>): void =>
    record.keep(type, data, { attempt });
  const onReady = async (): Promise<void> => {
    await record.append('dispatch.started', { grant: run.grant }, { attempt });
    hasStarted = true;
    setImmediate(() => prepareNext(rooms)); // `go` is sent first
  };
  const work = createWorkRecord(record, { runId: run.runId, attempt });
  const onLine = (line: WorkerLine): void => {
    passOn(record, work, { runId: run.runId, attempt }, line, { cost: rooms.budget.cost });
    if (line.kind === 'request') void answerRequest(line);
    if (line.kind === 'progress') usage.receive(line);
    if (line.kind === 'model.usage') usage.observe(line.usage);
  };
  const supervision = supervise({
    worker,
    isEnclosed: run.grant.sandbox !== 'none',
    usesModel: run.runtime.name !== 'command',
    compute: rooms.compute,
    clock: rooms.clock,
    wallMs: run.timeoutMs,
    graceMs: rooms.settings.graceMs,
    heartbeatMs: rooms.settings.heartbeatMs,
    stallTimeoutMs: run.stallTimeoutMs,
    canRecord: () => rooms.ledger.isThere(),
    countBeat: (counters) => usage.countBeat(counters),
    isModelFailing: () => usage.isModelFailing(),
    onHeader: (header) => compareHeader(run, prepared, header),
    onReady,
    onLine,
    onMalformed: (bad) => keep('stream.malformed', { ...bad }),
    onHealth: (previous, current) => keep('health.changed', { previous, current }),
    onStalled: (reason, detail, silentMs) =>
      keep('run.stalled', { reason, detail, silentMs: Math.round(silentMs) }),
  });
  const answerRequest = createAnswering(rooms, run, record, attempt, supervision);
  const usage = watchUsage(rooms, run, prepared, {
    stop: (reason, detail) => supervision.stop(reason, { detail }),
  });
  return {
    supervision,
    ended: supervision.ended.finally(usage.end),
    hasStarted: () => hasStarted,
    countUsage: usage.count,
    seen: () => usage.seen,
    findConversation: usage.findConversation,
    closeWork: () => work.close(),
    delivered: attachStreams(prepared.job, run.attachment, worker).delivered,
  };
}

/** What takes long and is needed later is done while the worker works. */
function prepareNext(rooms: DispatchRooms): void {
  rooms.prepareToSeal();
  rooms.compute.spares.warmNext();
}

/** Answers the worker's requests; while a call waits for a person, the supervision knows it. */
function createAnswering(
  { requests }: DispatchRooms,
  { runId, grant, session }: AdmittedRun,
  record: RunRecord,
  attempt: number,
  supervision: Supervision,
): (line: Extract<WorkerLine, { kind: 'request' }>) => Promise<void> {
  const emit: Emit = (type, data) => record.append(type, data, { attempt });
  const who = { runId, attempt, grant, session, emit };
  let approvals = 0;
  return async ({ id, request, body }) => {
    if (request === 'approve') approvals += 1;
    supervision.setWaitingForPermission(approvals > 0);
    const reply = await requests
      .answer(who, { id, request, body })
      .catch((error: unknown) => ({ ok: false, value: (error as Error).message }));
    if (request === 'approve') approvals -= 1;
    supervision.setWaitingForPermission(approvals > 0);
    supervision.send({ kind: 'reply', id, ok: reply.ok, value: reply.value });
  };
}

/** Invariant 5: the worker echoes what it applied; anything else ends the run before the agent exists. */
function compareHeader(run: AdmittedRun, prepared: PreparedAttempt, header: WorkerHeader): Failure | null {
  if (header.runId !== run.runId || header.attempt !== prepared.attempt) {
    return {
      reason: 'policy-denied',
      detail: `the worker answered for ${header.runId}.${header.attempt}`,
      step: STEPS.ready,
    };
  }
  if (!isDeepStrictEqual(header.grant, JSON.parse(JSON.stringify(run.grant)))) {
    return {
      reason: 'policy-denied',
      detail: 'the worker applied another grant than its own',
      step: STEPS.ready,
    };
  }
  return null;
}
