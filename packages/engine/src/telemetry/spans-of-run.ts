/** The spans of one run (TE1): `worker.execute`, and under it what the agent did and what the run waited for. */
import {
  findPush,
  isEnding,
  isPushedByItself,
  parseTraceparent,
  statusOfEnding,
  type DataOf,
  type SpanPlace,
  type TerminalType,
} from '@caisson/protocol';
import type { StoredEvent, StoredOf } from '../ledger/index.ts';
import type { RunSpan, SpanEvent, SpanValue } from './contract.ts';
import { atMs, findEvent, shortError } from './event-values.ts';
import { listWaits } from './wait-spans.ts';
import { listWork } from './work-spans.ts';

type Accepted = StoredOf<'dispatch.accepted'>;
type Ended = StoredOf<TerminalType>;

/** Names that the tools of pools know, beside those of the conventions. */
const POOL_AGENT = 'worker-pool';

/** Nothing more will come that a span shows. */
export function isComplete(events: readonly StoredEvent[]): boolean {
  const ended = findEnding(events);
  if (ended === null) return false;
  return findPush(events)?.status !== 'pending' || !isPushedByItself(ended.type);
}

/** The branch is on its remote, or will not come there by itself. */
export function isPushOutcome({ type }: Pick<StoredEvent, 'type'>): boolean {
  return type === 'branch.pushed' || type === 'branch.push-failed' || type === 'branch.dropped';
}

/** Empty for a run that has not ended, or whose trace is not sampled. */
export function spansOfRun(events: readonly StoredEvent[]): readonly RunSpan[] {
  const accepted = findEvent(events, 'dispatch.accepted');
  const ended = findEnding(events);
  const place = parseTraceparent(accepted?.trace);
  if (accepted === null || ended === null || place?.isSampled !== true) return [];
  const run = { place, runId: accepted.runId ?? '', endMs: findEndMs(events, ended) };
  return [describeRun(events, accepted, ended, run), ...listWaits(events, run), ...listWork(events, run)].map(
    (span) => keepInside(span, atMs(accepted), run.endMs),
  );
}

/** What the spans of a run share. */
export interface SpannedRun {
  readonly place: SpanPlace;
  readonly runId: string;
  readonly endMs: number;
}

function describeRun(
  events: readonly StoredEvent[],
  accepted: Accepted,
  ended: Ended,
  { place, runId, endMs }: SpannedRun,
): RunSpan {
  const { traceId, spanId, flags } = place;
  return {
    ...{ name: 'worker.execute', kind: 'internal', traceId, spanId, flags },
    parentSpanId: parseTraceparent(accepted.data.callerTrace)?.spanId ?? null,
    startMs: atMs(accepted),
    endMs,
    attributes: { ...describeTask(accepted.data), 'caisson.run.id': runId, ...describeEnd(events, ended) },
    events: listMoments(events),
    ...(ended.type === 'dispatch.failed' ? { error: shortError(ended.data.failure) } : {}),
  };
}

function describeTask({ task, agent, runtime, resolved, session }: DataOf<'dispatch.accepted'>) {
  const model = resolved.model.requested;
  return {
    taskId: task.id,
    agentId: task.pool === undefined ? (agent ?? runtime) : POOL_AGENT,
    'caisson.runtime': runtime,
    ...(session === undefined ? {} : { 'caisson.session': session }),
    ...(model === '' ? {} : { 'gen_ai.request.model': model }),
  };
}

function describeEnd(events: readonly StoredEvent[], ended: Ended): Record<string, SpanValue> {
  const { durationMs, total, costUsd } = ended.data;
  const usage = total?.usage ?? ended.data.usage;
  const failure = ended.type === 'dispatch.failed' ? ended.data.failure : undefined;
  const cause = ended.type === 'dispatch.cancelled' ? ended.data.cause : undefined;
  const status = statusOfEnding(ended.type, failure, cause);
  const handoff = events.findLast((event) => event.type === 'handoff.recorded')?.data.handoff;
  return {
    status: handoff?.status ?? status,
    'caisson.status': status,
    filesChanged: handoff?.filesChanged.length ?? countFiles(events),
    tokensUsed: (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0),
    toolCallCount: usage?.toolCalls ?? events.filter(({ type }) => type === 'tool.started').length,
    durationMs,
    'caisson.attempts': total?.attempts ?? Math.max(1, ended.attempt),
    ...(costUsd === undefined ? {} : { 'caisson.cost.usd': costUsd }),
    ...(failure === undefined ? {} : { 'error.type': failure.reason }),
  };
}

/** Of the last patch: each attempt continues the work of the one before. */
function countFiles(events: readonly StoredEvent[]): number {
  const captures = events.filter((event) => event.type === 'capture.done');
  return captures.findLast(({ data }) => data.what === 'patch')?.data.files ?? 0;
}

const MOMENTS: Readonly<Partial<Record<StoredEvent['type'], string>>> = {
  'attempt.launched': 'sandbox.created',
  'repository.fetched': 'sandbox.cloned',
  'dispatch.started': 'sandbox.workerStarted',
  'attempt.ended': 'attempt.ended',
  'run.adopted': 'run.adopted',
  'run.stalled': 'run.stalled',
  'branch.pushed': 'sandbox.pushed',
  'branch.push-failed': 'sandbox.pushFailed',
};

function listMoments(events: readonly StoredEvent[]): SpanEvent[] {
  return events.flatMap((event) => {
    const name = MOMENTS[event.type];
    return name === undefined ? [] : [{ name, atMs: atMs(event) }];
  });
}

/** The push belongs to the run and comes after its ending. */
function findEndMs(events: readonly StoredEvent[], ended: Ended): number {
  const outcome = events.find(isPushOutcome);
  return outcome === undefined ? atMs(ended) : Math.max(atMs(ended), atMs(outcome));
}

function findEnding(events: readonly StoredEvent[]): Ended | null {
  return events.find((event): event is Ended => isEnding(event)) ?? null;
}

/** Durations come from another clock than times: no span leaves its run. */
function keepInside(span: RunSpan, firstMs: number, lastMs: number): RunSpan {
  const endMs = Math.min(Math.max(span.endMs, firstMs), lastMs);
  return { ...span, startMs: Math.min(Math.max(span.startMs, firstMs), endMs), endMs };
}
