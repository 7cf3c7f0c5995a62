/** Events that a topic exists for are told on the bus; the ledger has them all. */
import { BusTopic, isTerminal, statusOfEnding, type BusPayloads } from '@caisson/protocol';
import type { SafeEventBus } from '../bus/index.ts';
import type { LiveEvent } from '../dispatch/index.ts';

export function publishOnBus(bus: SafeEventBus, event: LiveEvent): void {
  if (event.runId === null) return;
  const who = { runId: event.runId, attempt: event.attempt, at: event.at };
  const { data } = event;
  if (event.type === 'worker.progress') {
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
  } else if (event.type === 'dispatch.accepted') {
    const task = data['task'] as { description: string };
    bus.emit(BusTopic.RUN_STARTED, { ...who, task: task.description, runtime: String(data['runtime']) });
  } else if (event.type === 'prompt.compiled') {
    bus.emit(BusTopic.PROMPT_COMPILED, data as BusPayloads[typeof BusTopic.PROMPT_COMPILED]);
  } else if (event.type === 'warning') {
    bus.emit(BusTopic.WARNING, { source: String(data['source']), message: String(data['message']) });
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
