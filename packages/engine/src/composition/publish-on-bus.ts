/** Publishes events that have a topic on the bus; the ledger has them all. */
import {
  BusTopic,
  isEnding,
  statusOfEnding,
  type BusPayloads,
  type DataOf,
  type TerminalType,
} from '@caisson/protocol';
import type { SafeEventBus } from '../bus/index.ts';
import type { PublishedEvent } from '../ledger/index.ts';

type Started = BusPayloads[typeof BusTopic.RUN_STARTED];
type Accepted = Omit<Started, 'runId' | 'attempt' | 'at'>;

/** Remembers an accepted run until it ends: `run-started` carries both. */
export function createBusPublisher(bus: SafeEventBus): (event: PublishedEvent) => void {
  const accepted = new Map<string, Accepted>();
  return (event) => {
    const { runId, attempt, at } = event;
    if (runId === null) return;
    if (event.type === 'dispatch.accepted') accepted.set(runId, describeAccepted(event.data));
    publish(bus, { runId, attempt, at }, event, accepted.get(runId));
    if (isEnding(event)) accepted.delete(runId);
  };
}

function describeAccepted({ task, runtime, agent, resolved }: DataOf<'dispatch.accepted'>): Accepted {
  const model = resolved.model.requested;
  return {
    task: task.description,
    runtime,
    ...(agent === undefined ? {} : { agent }),
    ...(model === '' ? {} : { model }),
  };
}

function publish(
  bus: SafeEventBus,
  who: { runId: string; attempt: number; at: string },
  event: PublishedEvent,
  accepted: Accepted = { task: '', runtime: '' },
): void {
  switch (event.type) {
    case 'dispatch.started':
      return void bus.emit(BusTopic.RUN_STARTED, { ...who, ...accepted });
    case 'worker.progress': {
      if (event.data.message === 'compaction')
        bus.emit(BusTopic.COMPACTION_STARTED, { runId: who.runId, attempt: who.attempt });
      const currentTool = event.data.tool ?? null;
      return void bus.emit(BusTopic.WORKER_PROGRESS, { ...who, ...event.data, currentTool });
    }
    case 'worker.heartbeat':
      return void bus.emit(BusTopic.WORKER_HEARTBEAT, { ...who, ...event.data });
    case 'health.changed':
      return void bus.emit(BusTopic.WORKER_HEALTH_CHANGED, { ...who, ...event.data });
    case 'prompt.compiled':
      return void bus.emit(BusTopic.PROMPT_COMPILED, event.data);
    case 'warning':
      return void bus.emit(BusTopic.WARNING, { ...event.data, runId: who.runId });
    default:
      if (isEnding(event)) bus.emit(BusTopic.RUN_FINISHED, { ...who, ...describeEnding(event) });
  }
}

function describeEnding(event: Extract<PublishedEvent, { type: TerminalType }>) {
  const { durationMs, usage } = event.data;
  const failure = event.type === 'dispatch.failed' ? event.data.failure : undefined;
  const cause = event.type === 'dispatch.cancelled' ? event.data.cause : undefined;
  return {
    status: statusOfEnding(event.type, failure, cause),
    durationMs,
    ...(failure === undefined ? {} : { failure }),
    ...(usage === undefined ? {} : { usage }),
  };
}
