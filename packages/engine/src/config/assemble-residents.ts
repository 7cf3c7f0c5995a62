/** Senses, workflows and schedules of the files, with their defaults. */
import type { ConfigFile, Mode, ScheduleConfig, SenseConfig, WorkflowConfig } from '@caisson/protocol';
import type {
  ResolvedResidentGrant,
  ResolvedResidents,
  ResolvedSchedule,
  ResolvedSense,
  ResolvedTrigger,
  ResolvedWorkflow,
} from './resident-contract.ts';

const SECOND_MS = 1000;
/** Shared by a thousand residents. */
const NOTHING: readonly never[] = [];
const MEBIBYTE = 1024 * 1024;

export function assembleResidents(
  { senses = {}, workflows = {}, schedules = {} }: ConfigFile,
  mode: Mode,
  toAbsolute: (path: string) => string,
): ResolvedResidents {
  const grants = new Map<string, ResolvedResidentGrant>();
  /** A thousand residents with the same grant share it. */
  const grantOf = (written: WrittenGrant): ResolvedResidentGrant => {
    const grant = assembleGrant(written, toAbsolute);
    const text = JSON.stringify(grant);
    const known = grants.get(text) ?? grant;
    grants.set(text, known);
    return known;
  };
  return {
    senses: mapEach(senses, (name, sense) => assembleSense(name, sense, grantOf(sense), toAbsolute)),
    workflows: mapEach(workflows, (name, workflow) =>
      assembleWorkflow(name, { ...workflow, mode: workflow.mode ?? mode }, grantOf(workflow), toAbsolute),
    ),
    schedules: mapEach(schedules, (name, schedule) => assembleSchedule(name, schedule, toAbsolute)),
  };
}

function assembleSense(
  name: string,
  sense: SenseConfig,
  grant: ResolvedResidentGrant,
  toAbsolute: (path: string) => string,
): ResolvedSense {
  return {
    name,
    file: toAbsolute(sense.file),
    group: sense.group ?? name,
    ...(sense.interval === undefined ? {} : { intervalMs: sense.interval }),
    on: sense.on === undefined ? NOTHING : sense.on.map(toTrigger),
    throttleMs: sense.throttle ?? 0,
    allowLoop: sense.allowLoop ?? false,
    timeoutMs: sense.timeout ?? 30 * SECOND_MS,
    graceMs: sense.gracePeriod ?? 5 * SECOND_MS,
    grant,
  };
}

function toTrigger(written: NonNullable<SenseConfig['on']>[number]): ResolvedTrigger {
  if ('signal' in written) return { kind: 'signal', name: written.signal };
  if ('files' in written) return { kind: 'files', pattern: written.files };
  return { kind: 'runs', statuses: [written.runs].flat() };
}

function assembleWorkflow(
  name: string,
  workflow: WorkflowConfig & { readonly mode: Mode },
  grant: ResolvedResidentGrant,
  toAbsolute: (path: string) => string,
): ResolvedWorkflow {
  return {
    name,
    file: toAbsolute(workflow.file),
    on: workflow.on ?? NOTHING,
    concurrency: workflow.concurrency ?? 1,
    overflow: workflow.overflow ?? 'queue',
    maxQueue: workflow.maxQueue ?? 100,
    maxRounds: workflow.maxRounds ?? 50,
    timeoutMs: workflow.timeout ?? 3600 * SECOND_MS,
    graceMs: workflow.gracePeriod ?? 5 * SECOND_MS,
    mode: workflow.mode,
    runHosts: workflow.runHosts ?? NOTHING,
    runBudgetUsd: workflow.runBudgetUsd ?? null,
    runTokens: workflow.runTokens ?? null,
    grant,
  };
}

function assembleSchedule(
  name: string,
  schedule: ScheduleConfig,
  toAbsolute: (path: string) => string,
): ResolvedSchedule {
  const { jitter = 0, catchUp = 'skip', timeout = null, inputs, ...rest } = schedule;
  const found = inputs === undefined ? {} : { inputs: mapEach(inputs, (_key, path) => toAbsolute(path)) };
  return { ...rest, ...found, name, jitterMs: jitter, catchUp, timeoutMs: timeout };
}

export type WrittenGrant = Pick<
  SenseConfig,
  'read' | 'write' | 'hosts' | 'memory' | 'pids' | 'disk' | 'cpus' | 'crashLimit' | 'crashWindow'
>;

const LIMITS = ['memory', 'pids', 'disk', 'cpus'] as const;

export function assembleGrant(
  { read = [], write = [], hosts = [], memory, pids, disk, cpus, crashLimit, crashWindow }: WrittenGrant,
  toAbsolute: (path: string) => string,
): ResolvedResidentGrant {
  return {
    read: read.map(toAbsolute),
    write: write.map(toAbsolute),
    hosts,
    limits: {
      memory: memory ?? 512 * MEBIBYTE,
      pids: pids ?? 128,
      disk: disk ?? 256 * MEBIBYTE,
      ...(cpus === undefined ? {} : { cpus }),
    },
    crashes: { limit: crashLimit ?? 5, windowMs: crashWindow ?? 60 * SECOND_MS },
    chosenLimits: LIMITS.filter((name) => ({ memory, pids, disk, cpus })[name] !== undefined),
  };
}

function mapEach<In, Out>(
  written: Readonly<Record<string, In>>,
  change: (name: string, value: In) => Out,
): Readonly<Record<string, Out>> {
  return Object.fromEntries(Object.entries(written).map(([name, value]) => [name, change(name, value)]));
}
