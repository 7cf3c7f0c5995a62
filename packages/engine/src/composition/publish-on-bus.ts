/** Publishes events that have a topic on the bus; the ledger has them all. */
import {
  BusTopic,
  definedOnly,
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

interface Remembered {
  readonly accepted: Accepted;
  readonly recentTools: readonly string[];
}

const UNKNOWN: Remembered = { accepted: { task: '', runtime: '' }, recentTools: [] };
const MAX_RECENT_TOOLS = 5;

/** Remembers of each run, until it ends, what several payloads carry. */
export function createBusPublisher(bus: SafeEventBus): (event: PublishedEvent) => void {
  const runs = new Map<string, Remembered>();
  return (event) => {
    const { runId, attempt, at } = event;
    if (runId === null) return;
    const run = remember(runs.get(runId) ?? UNKNOWN, event);
    if (run !== UNKNOWN) runs.set(runId, run);
    publish(bus, { runId, attempt, at }, event, run);
    if (isEnding(event)) runs.delete(runId);
  };
}

function remember(run: Remembered, event: PublishedEvent): Remembered {
  if (event.type === 'dispatch.accepted') return { ...run, accepted: describeAccepted(event.data) };
  const tool = event.type === 'worker.progress' ? event.data.tool : null;
  if (tool == null || tool === run.recentTools.at(-1)) return run;
  return { ...run, recentTools: [...run.recentTools, tool].slice(-MAX_RECENT_TOOLS) };
}

function describeAccepted({ task, runtime, agent, resolved }: DataOf<'dispatch.accepted'>): Accepted {
  const model = resolved.model.requested;
  return {
    task: task.description,
    runtime,
    ...definedOnly({ agent }),
    ...(model === '' ? {} : { model }),
  };
}

function publish(
  bus: SafeEventBus,
  who: { runId: string; attempt: number; at: string },
  event: PublishedEvent,
  run: Remembered,
): void {
  switch (event.type) {
    case 'dispatch.started':
      return void bus.emit(BusTopic.RUN_STARTED, { ...who, ...run.accepted });
    case 'worker.progress': {
      const currentTool = event.data.tool ?? null;
      const recentTools = [...run.recentTools];
      return void bus.emit(BusTopic.WORKER_PROGRESS, { ...who, ...event.data, currentTool, recentTools });
    }
    case 'compaction.started': {
      const { runId, attempt } = who;
      return void bus.emit(BusTopic.COMPACTION_STARTED, { runId, attempt, ...event.data });
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
      if (isEnding(event))
        bus.emit(BusTopic.RUN_FINISHED, {
          ...who,
          ...definedOnly({ agent: run.accepted.agent }),
          ...describeEnding(event),
        });
  }
}

function describeEnding(event: Extract<PublishedEvent, { type: TerminalType }>) {
  const { durationMs, usage } = event.data;
  const failure = event.type === 'dispatch.failed' ? event.data.failure : undefined;
  const cause = event.type === 'dispatch.cancelled' ? event.data.cause : undefined;
  return {
    status: statusOfEnding(event.type, failure, cause),
    durationMs,
    ...definedOnly({ failure, usage }),
  };
}
