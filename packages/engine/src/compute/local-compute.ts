/** Workers as plain processes of this machine, each in its own session and, if possible, its own cgroup. */
import {
  createCgroup,
  findByMarker,
  findCgroup,
  isSameProcess,
  killMarked,
  listOwnCgroups,
  MARKER_NAME,
  reopenCgroup,
  startChild,
  takeTurn,
  type Cgroup,
  type Child,
  sendSignal,
} from '@caisson/ground';
import { definedOnly, encodeNdjson, type Limits } from '@caisson/protocol';
import { adoptWorker, canAdopt } from './adopt-worker.ts';
import type { WorkerLimits, Compute, WorkerHandle, WorkerProcess, WorkerStart } from './contract.ts';
import { WorkerStartError } from './errors.ts';
import { startVariables, WORKER_FLAGS, type SpareWorkers } from './spare-worker.ts';

const STDERR_TAIL_BYTES = 8192;
const GONE_POLL_MS = 5;
const GONE_LIMIT_MS = 10_000;
/** Whose group it is, by its name. */
const OWNER = /^(?:(run_[a-z0-9]+)\.\d+|(res_[a-z0-9]+))$/;

export interface LocalComputeOptions {
  readonly node: string;
  readonly workerEntry: string;
  /** Where workers keep compiled code between starts; a folder that no agent can write to. */
  readonly compileCache: string | null;
  /** See `inheritVariables`. */
  readonly inherited?: Readonly<Record<string, string>>;
  readonly spares: SpareWorkers;
  /** How long `stop` waits for processes that do not end. */
  readonly goneLimitMs?: number;
}

export function createLocalCompute(options: LocalComputeOptions): Compute {
  const groups = new Map<string, Cgroup>();
  return {
    spares: options.spares,
    limit(key, limits) {
      const group = createCgroup({ name: key, limits: cgroupLimits(limits) });
      groups.set(key, group);
      return describeLimits(key, group, () => groups.delete(key));
    },
    async start(start) {
      const group = groups.get(start.key);
      const child = await options.spares.take(start.entry);
      if (child !== null) assign(child, start);
      return describeWorker(child ?? (await startFresh(options, start)), start, group);
    },
    adopt: adoptWorker,
    canAdopt,
    reopenLimits(handle) {
      const group = reopenCgroup(handle.cgroup.procsFiles);
      return { events: () => group.events(), release: () => group.remove() };
    },
    recover: (handle) => ({ alive: isAlive(handle) }),
    async stop(handle, { isProvenGone = false } = {}) {
      if (isSameProcess(handle.pid, handle.startTime)) sendSignal(handle.pid, 'SIGKILL');
      await reopenCgroup(handle.cgroup.procsFiles).kill();
      return isProvenGone ? [] : waitUntilGone(handle, options.goneLimitMs);
    },
    async release(handle) {
      await reopenCgroup(handle.cgroup.procsFiles).remove();
      groups.delete(handle.cgroup.name);
    },
    async sweep(key) {
      await killMarked(MARKER_NAME, key);
      await findCgroup(key).remove();
    },
    async removeLeftGroups(isOver) {
      let removed = 0;
      for (const { name, ageMs, removeIfEmpty } of listOwnCgroups()) {
        const [, runId, resident] = OWNER.exec(name) ?? [];
        const owner = runId ?? resident;
        if (owner !== undefined && isOver(owner, ageMs) && (await removeIfEmpty())) removed += 1;
      }
      return removed;
    },
  };
}

function cgroupLimits({ memory, cpus, pids }: Limits): { memory?: number; cpus?: number; pids?: number } {
  return definedOnly({ memory, cpus, pids });
}

function describeLimits(name: string, group: Cgroup, forget: () => void): WorkerLimits {
  return {
    name,
    kind: group.kind,
    procsFiles: group.procsFiles,
    enforced: group.enforced,
    ...definedOnly({ why: group.why }),
    events: () => group.events(),
    async release() {
      await group.remove();
      forget();
    },
  };
}

async function startFresh(options: LocalComputeOptions, start: WorkerStart): Promise<Child> {
  await takeTurn();
  return startChild({
    file: options.node,
    args: [...WORKER_FLAGS, start.entry ?? options.workerEntry],
    cwd: start.cwd,
    env: { ...workerEnvironment(start), ...startVariables(options, start.expected) },
  }).catch((error: unknown) => {
    throw new WorkerStartError(
      `the worker of ${start.key} could not be started: ${(error as Error).message}`,
      { cause: error },
    );
  });
}

function assign(child: Child, start: WorkerStart): void {
  child.control.write(encodeNdjson({ kind: 'assign', cwd: start.cwd, env: workerEnvironment(start) }));
}

function describeWorker(child: Child, start: WorkerStart, group: Cgroup | undefined): WorkerProcess {
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => {
    stderr = (stderr + chunk.toString('utf8')).slice(-STDERR_TAIL_BYTES);
  });
  return {
    handle: {
      kind: 'local',
      key: start.key,
      pid: child.pid,
      startTime: child.startTime,
      cgroup: { name: start.key, procsFiles: group?.procsFiles ?? [] },
    },
    stdout: child.stdout,
    stderrTail: () => stderr,
    control: child.control,
    input: child.stdin,
    output: child.output,
    exited: child.exited,
    kill: () => child.kill('SIGKILL'),
  };
}

/** Small and not secret: everything else is in the job file. */
function workerEnvironment(start: WorkerStart): Record<string, string> {
  return {
    PATH: start.path,
    CAISSON_PARENT_PID: String(process.pid),
    CAISSON_JOB_FILE: start.jobFile,
    ...start.env,
  };
}

function isAlive(handle: WorkerHandle): boolean {
  return isSameProcess(handle.pid, handle.startTime) || leftovers(handle).length > 0;
}

/** Its processes other than the worker: found by the mark in each of them. */
function leftovers(handle: WorkerHandle): number[] {
  return findByMarker(MARKER_NAME, handle.key).map((found) => found.pid);
}

/** Resolves with the processes that are left when the time is over. */
async function waitUntilGone(handle: WorkerHandle, limitMs = GONE_LIMIT_MS): Promise<readonly number[]> {
  const until = performance.now() + limitMs;
  for (;;) {
    const worker = isSameProcess(handle.pid, handle.startTime) ? [handle.pid] : [];
    const rest = [...worker, ...leftovers(handle)];
    if (rest.length === 0 || performance.now() >= until) return rest;
    for (const pid of rest) sendSignal(pid, 'SIGKILL');
    await new Promise((resolve) => setTimeout(resolve, GONE_POLL_MS));
  }
}
