/** Stage 5: follows one worker. Its lines become our events; its requests are answered; its spending is counted. */
import { isDeepStrictEqual } from 'node:util';
import {
  STEPS,
  type DurableType,
  type EventContent,
  type Handover,
  type Job,
  type Failure,
  type ObservedUsage,
  type SessionResume,
  type StopReason,
  type Usage,
  type WorkerHeader,
  type WorkerLine,
} from '@caisson/protocol';
import {
  supervise,
  type Supervision,
  type SupervisionOptions,
  type WorkerEnd,
} from '../supervision/index.ts';
import type { WorkerProcess } from '../compute/index.ts';
import type { AdmittedRun, DispatchRooms } from '../admission/index.ts';
import type { LaunchedAttempt, LaunchEvent } from './launch.ts';
import type { PreparedAttempt } from './prepare.ts';
import { RunTakenOverError, type Emit, type RunRecord, type StoredEvent } from '../ledger/index.ts';
import { demandOwner } from './demand-owner.ts';
import { attachStreams } from './attach-streams.ts';
import { watchUsage } from './watch-usage.ts';
import { createWorkRecord } from './work-record.ts';
import { findRecordedWork, passOn } from './worker-lines.ts';

export interface FollowedAttempt {
  readonly supervision: Supervision;
  readonly ended: Promise<WorkerEnd>;
  hasStarted(): boolean;
  /** Whether the worker goes on without its host. */
  readonly isAdoptable: boolean;
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

/** What following needs to know of a run; an adopted one is read from the ledger. */
export interface FollowedRun extends Pick<
  AdmittedRun,
  'runId' | 'grant' | 'session' | 'trace' | 'model' | 'timeoutMs' | 'stallTimeoutMs' | 'attachment'
> {
  readonly runtimeName: string;
  /** The agent reports its usage only at its end. */
  readonly reportsUsageOnce: boolean;
}

/** What following needs of what was prepared. */
export interface FollowedParts extends Pick<PreparedAttempt, 'attempt'> {
  readonly attached: Job['attached'];
  readonly isAdoptable: boolean;
  /** Of a worker that was started here: what is recorded before it gets `go`. */
  readonly launched?: LaunchEvent;
  readonly program?: LaunchedAttempt['program'];
}

export function describeFollowed(run: AdmittedRun): FollowedRun {
  const { runtime, ...rest } = run;
  return {
    ...rest,
    runtimeName: runtime.name,
    reportsUsageOnce: runtime.descriptor.reportsUsageOnce === true,
  };
}

/** `adopted`: the worker began with another host, and these are the events of the run so far. */
export function follow(
  rooms: DispatchRooms,
  run: FollowedRun,
  record: RunRecord,
  parts: FollowedParts,
  worker: WorkerProcess,
  adopted: { readonly handover: Handover; readonly events: readonly StoredEvent[] } | null = null,
): FollowedAttempt {
  const { attempt } = parts;
  const place = { runId: run.runId, attempt, isCommand: run.runtimeName === 'command' };
  let hasStarted = adopted !== null;
  const replay = createReplay(adopted?.handover ?? null);
  const work = createWorkRecord(record, place, findRecordedWork(adopted?.events ?? [], place));
  const onLine = (line: WorkerLine): void => {
    const isPast = replay.receive(line);
    passOn(record, work, place, line, { cost: rooms.budget.cost, isPast });
    if (line.kind === 'request' && replay.isOpen(line))
      void answerRequest({ ...line, waitedMs: replay.findWaitedMs(line) });
    if (line.kind === 'progress') usage.receive(line);
    if (line.kind === 'model.usage') usage.observe(line.usage);
  };
  const supervision = supervise({
    worker,
    isEnclosed: run.grant.sandbox !== 'none',
    usesModel: !place.isCommand,
    adoptedAfterMs: adopted?.handover.elapsedMs,
    findTakeover: () => findTakeover(rooms, run.runId),
    compute: rooms.compute,
    clock: rooms.clock,
    wallMs: run.timeoutMs,
    graceMs: rooms.settings.graceMs,
    heartbeatMs: rooms.settings.heartbeatMs,
    stallTimeoutMs: run.stallTimeoutMs,
    canRecord: () => rooms.ledger.isThere(),
    countBeat: (counters) => usage.countBeat(counters),
    isModelFailing: () => usage.isModelFailing(),
    onHeader: (header) => compareHeader(run, attempt, header),
    async onReady() {
      await record.appendAll(listStart(run, parts), attempt);
      hasStarted = true;
      setImmediate(() => prepareNext(rooms, parts)); // `go` is sent first
    },
    onLine,
    ...recordTroubles(record, attempt, replay.isUnderWay),
  });
  const answerRequest = createAnswering(rooms, run, record, attempt, supervision);
  const stop = (reason: StopReason, detail: string): void => supervision.stop(reason, { detail });
  const usage = watchUsage(rooms, run, parts, { stop, isReplaying: replay.isUnderWay });
  return {
    supervision,
    ended: supervision.ended.finally(usage.end),
    hasStarted: () => hasStarted,
    isAdoptable: parts.isAdoptable,
    countUsage: usage.count,
    seen: () => usage.seen,
    findConversation: usage.findConversation,
    closeWork: () => work.close(),
    delivered: attachStreams(parts, run.attachment, worker).delivered,
  };
}

function listStart({ grant }: FollowedRun, { launched }: FollowedParts): EventContent<DurableType>[] {
  const started = { type: 'dispatch.started', data: { grant } } as const;
  return launched === undefined ? [started] : [launched, started];
}

function recordTroubles(
  record: RunRecord,
  attempt: number,
  isReplaying: () => boolean,
): Pick<SupervisionOptions, 'onMalformed' | 'onHealth' | 'onStalled'> {
  return {
    onMalformed(bad) {
      if (!isReplaying()) record.keep('stream.malformed', { ...bad }, { attempt });
    },
    onHealth: (previous, current) => record.keep('health.changed', { previous, current }, { attempt }),
    onStalled: (reason, detail, silentMs) =>
      record.keep('run.stalled', { reason, detail, silentMs: Math.round(silentMs) }, { attempt }),
  };
}

/** Which lines of an adopted worker are of the time before; of one that was started here none is. */
function createReplay(handover: Handover | null) {
  const lines = handover?.lines ?? 0;
  const waited = new Map(handover?.requests.map(({ id, waitedMs }) => [id, waitedMs]));
  let isUnderWay = lines > 0;
  return {
    /** Returns whether the line is of the time before. */
    receive({ seq }: WorkerLine): boolean {
      isUnderWay &&= seq < lines;
      return seq <= lines;
    },
    isUnderWay: () => isUnderWay,
    /** Whether a request still waits for its answer. */
    isOpen: ({ seq, id }: RequestLine) => seq > lines || waited.has(id),
    /** For how long a request of the time before has waited. */
    findWaitedMs: ({ id }: RequestLine) => waited.get(id) ?? null,
  };
}

/** Another host has the run since we could last look. A ledger that cannot be read now is read again soon. */
function findTakeover(rooms: DispatchRooms, runId: string): Error | null {
  try {
    demandOwner(rooms, runId);
    return null;
  } catch (error) {
    return error instanceof RunTakenOverError ? error : null;
  }
}

/** What takes long and is needed later is done while the worker works. */
function prepareNext(rooms: DispatchRooms, { program = null }: FollowedParts): void {
  rooms.prepareToSeal(program);
  rooms.compute.spares.warmNext();
}

type RequestLine = Extract<WorkerLine, { kind: 'request' }>;

/** Answers the worker's requests; while a call waits for a person, the supervision knows it. */
function createAnswering(
  { requests }: DispatchRooms,
  { runId, grant, session, trace }: FollowedRun,
  record: RunRecord,
  attempt: number,
  supervision: Supervision,
): (line: RequestLine & { readonly waitedMs: number | null }) => Promise<void> {
  const emit: Emit = (type, data) => record.append(type, data, { attempt });
  const who = { runId, attempt, grant, session, trace, emit };
  let approvals = 0;
  return async ({ id, request, body, waitedMs }) => {
    if (request === 'approve') approvals += 1;
    supervision.setWaitingForPermission(approvals > 0);
    const reply = await requests
      .answer(who, { id, request, body, waitedMs })
      .catch((error: unknown) => ({ ok: false, value: (error as Error).message }));
    if (request === 'approve') approvals -= 1;
    supervision.setWaitingForPermission(approvals > 0);
    supervision.send({ kind: 'reply', id, ok: reply.ok, value: reply.value });
  };
}

/** Invariant 5: the worker echoes what it applied; anything else ends the run before the agent exists. */
function compareHeader(run: FollowedRun, attempt: number, header: WorkerHeader): Failure | null {
  if (header.runId !== run.runId || header.attempt !== attempt) {
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
