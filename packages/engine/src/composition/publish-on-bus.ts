/** Events that a topic exists for are told on the bus; the ledger has them all. */
import { BusTopic, DispatchAccepted, isTerminal, statusOfEnding, type BusPayloads } from '@caisson/protocol';
import type { SafeEventBus } from '../bus/index.ts';
import type { HeardEvent } from '../ledger/index.ts';

type Started = BusPayloads[typeof BusTopic.RUN_STARTED];

/** Remembers what was accepted until it starts: `run-started` tells both. */
export function createBusPublisher(bus: SafeEventBus): (event: HeardEvent) => void {
  const accepted = new Map<string, Omit<Started, 'runId' | 'attempt' | 'at'>>();
  return (event) => {
    if (event.runId === null) return;
    const who = { runId: event.runId, attempt: event.attempt, at: event.at };
    switch (event.type) {
      case 'dispatch.accepted':
        accepted.set(event.runId, describeAccepted(event));
        return;
      case 'dispatch.started':
        bus.emit(BusTopic.RUN_STARTED, {
          ...who,
          ...(accepted.get(event.runId) ?? { task: '', runtime: '' }),
        });
        return;
      default:
        if (isTerminal(event.type)) accepted.delete(event.runId);
        publishWhileRunning(bus, who, event);
    }
  };
}

function describeAccepted(event: HeardEvent): Omit<Started, 'runId' | 'attempt' | 'at'> {
  const { task, runtime, agent, resolved } = DispatchAccepted.data.parse(event.data);
  const model = resolved.model.requested;
  return {
    task: task.description,
    runtime,
    ...(agent === undefined ? {} : { agent }),
    ...(model === '' ? {} : { model }),
  };
}

function publishWhileRunning(
  bus: SafeEventBus,
  who: { runId: string; attempt: number; at: string },
  event: HeardEvent,
): void {
  const { data } = event;
  if (event.type === 'worker.progress') {
    if (data['message'] === 'compaction') {
      bus.emit(BusTopic.COMPACTION_STARTED, { runId: who.runId, attempt: who.attempt });
    }
    bus.emit(BusTopic.WORKER_PROGRESS, {
      ...who,
      ...data,
      currentTool: data['tool'] ?? null,
    } as unknown as BusPayloads[typeof BusTopic.WORKER_PROGRESS]);
  } else if (event.type === 'worker.heartbeat') {
    bus.emit(BusTopic.WORKER_HEARTBEAT, { ...who, ...data } as BusPayloads[typeof BusTopic.WORKER_HEARTBEAT]);
  } else if (event.type === 'health.changed') {
    bus.emit(BusTopic.WORKER_HEALTH_CHANGED, {
      ...who,
      ...data,
    } as BusPayloads[typeof BusTopic.WORKER_HEALTH_CHANGED]);
  } else if (event.type === 'prompt.compiled') {
    bus.emit(BusTopic.PROMPT_COMPILED, data as BusPayloads[typeof BusTopic.PROMPT_COMPILED]);
  } else if (event.type === 'warning') {
    const warning = { source: String(data['source']), message: String(data['message']) };
    bus.emit(BusTopic.WARNING, { ...warning, runId: who.runId });
  } else if (isTerminal(event.type)) {
    bus.emit(BusTopic.RUN_FINISHED, {
      ...who,
      status: statusOfEnding(event.type, data['failure'] as never, data['cause'] as string | undefined),
      durationMs: Number(data['durationMs']),
      ...(data['failure'] === undefined ? {} : { failure: data['failure'] as never }),
      ...(data['usage'] === undefined ? {} : { usage: data['usage'] as never }),
    });
  }
}
