/** A schedule of the configuration, as the daemon fires it. */
import { definedOnly } from '@caisson/protocol';
import type { DispatchRequest } from '../admission/index.ts';
import { readCronTimes, type ResolvedConfig, type ResolvedSchedule } from '../config/index.ts';
import type { Schedule } from '../daemon/index.ts';

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
export function toScheduledRequest(schedule: ResolvedSchedule, idempotencyKey: string): DispatchRequest {
  const { command, hosts, budgetUsd, timeoutMs } = schedule;
  const request = {
    task: schedule.task,
    argv: command,
    runtime: schedule.runtime ?? (command === undefined ? undefined : 'command'),
    agent: schedule.agent,
    model: schedule.model,
    mode: schedule.mode,
    timeoutMs: timeoutMs ?? undefined,
    budget: budgetUsd === undefined ? undefined : { usd: budgetUsd },
    verify: schedule.verify,
    repo: schedule.repo,
    base: schedule.base,
    branch: schedule.branch,
    push: schedule.push,
    scope: schedule.scope,
    acceptance: schedule.acceptance,
    network: hosts === undefined ? undefined : { kind: 'hosts' as const, hosts },
    capabilities: schedule.capabilities,
    envBundles: schedule.envBundles,
    session: schedule.session,
    priority: schedule.priority,
    retries: schedule.retries,
    idempotencyKey,
  } satisfies { [K in keyof DispatchRequest]: DispatchRequest[K] | undefined };
  return definedOnly(request);
}
