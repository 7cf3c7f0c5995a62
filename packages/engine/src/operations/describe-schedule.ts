/** A schedule of the configuration, as the daemon fires it. */
import { definedOnly } from '@caisson/protocol';
import type { DispatchRequest } from '../admission/index.ts';
import { readCronTimes, type ResolvedConfig, type ResolvedSchedule } from '../config/index.ts';
import type { FiredSlot, Schedule } from '../daemon/index.ts';

/** Each with its times; who fires them adds what they start. */
export async function readSchedules({
  schedules,
}: Pick<ResolvedConfig, 'schedules'>): Promise<(Omit<Schedule, 'start'> & { settings: ResolvedSchedule })[]> {
  return await Promise.all(
    Object.values(schedules).map(async (settings) => {
      const { name, cron, timezone, catchUp, jitterMs } = settings;
      const times = await readCronTimes(cron, timezone);
      return { name, cron, timezone, catchUp, jitterMs, times, what: describeWhat(settings), settings };
    }),
  );
}

function describeWhat({ task, command, workflow }: ResolvedSchedule): string {
  if (workflow !== undefined) return `workflow ${workflow}`;
  return task ?? command?.join(' ') ?? '';
}

/** The same as `run` with these options. */
export function toScheduledRequest(
  settings: ResolvedSchedule,
  { slot, key, isCatchUp }: FiredSlot,
): DispatchRequest {
  const { name, cron, timezone, jitterMs, catchUp, workflow, ...options } = settings;
  void [cron, timezone, jitterMs, catchUp, workflow];
  const { task, command, runtime, timeoutMs, stallTimeout, network, hosts, ...more } = options;
  const { budgetUsd, maxTokens, maxTurns, maxToolCalls, memory, cpus, pids, ...same } = more;
  const request = {
    ...same,
    task,
    argv: command,
    runtime: runtime ?? (command === undefined ? undefined : 'command'),
    timeoutMs: timeoutMs ?? undefined,
    stallTimeoutMs: stallTimeout,
    budget: unlessEmpty({ usd: budgetUsd, tokens: maxTokens, turns: maxTurns, toolCalls: maxToolCalls }),
    limits: unlessEmpty({ memory, cpus, pids }),
    network:
      hosts !== undefined
        ? { kind: 'hosts' as const, hosts }
        : network === undefined
          ? undefined
          : { kind: network },
    idempotencyKey: key,
    schedule: { name, slot, ...(isCatchUp ? { isCatchUp } : {}) },
  } satisfies { [K in keyof DispatchRequest]: DispatchRequest[K] | undefined };
  return definedOnly(request);
}

function unlessEmpty<T extends object>(values: T): ReturnType<typeof definedOnly<T>> | undefined {
  const given = definedOnly(values);
  return Object.keys(given).length === 0 ? undefined : given;
}
