/**
 * Starts the workers of residents over `compute`, as those of attempts are started.
 *
 * SR1  Before there is a process, there is a row with its name: the next host finds and ends what a dead one left.
 * SR2  `ended` resolves after everything is removed: processes, cgroup, the folder of the start, the row.
 */
import { mkdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { isSameProcess, readProcess, removeTree, type Clock } from '@caisson/ground';
import { definedOnly, ResidentId, type Bind } from '@caisson/protocol';
import * as z from 'zod/mini';
import { listUnenforced } from '../admission/index.ts';
import { WorkerHandle, WorkerStartError, type Compute, type WorkerLimits } from '../compute/index.ts';
import type { Ledger } from '../ledger/index.ts';
import { createPrefixedId } from '../platform/index.ts';
import { composeResidentJob, type ResidentTimes, type StarterSettings } from './compose-resident-job.ts';
import type { ResidentPlan, ResidentProcess, ResidentStarter } from './contract.ts';
import { listProjectSecrets } from './project-secrets.ts';
import { residentPaths, startPaths } from './resident-paths.ts';
import { describeStarted } from './started-resident.ts';

const SPACE = 'residents';
const TIMES: ResidentTimes = { readyMs: 30_000, unresponsiveMs: 10_000 };

/** One start, for the host after this one. */
const StartRow = z.object({
  host: z.object({ pid: z.int(), startTime: z.string() }),
  handle: z.optional(WorkerHandle),
});

export interface ResidentStarterOptions {
  readonly compute: Pick<Compute, 'limit' | 'start' | 'spares' | 'stop' | 'release' | 'sweep'>;
  readonly kv: Ledger['kv'];
  readonly clock: Clock;
  readonly settings: StarterSettings;
  /** The program of the worker. */
  readonly entry: string;
  /** What its sandbox must not show, and what of the replaced folders it needs: as for attempts. */
  listHidden(): readonly string[];
  listBinds(): Promise<readonly Bind[]>;
  readonly times?: Partial<ResidentTimes>;
  warn(message: string): void;
}

export function createResidentStarter(options: ResidentStarterOptions): ResidentStarter {
  let isWarned = false;
  return {
    async start(plan) {
      const started = await start(options, plan);
      if (started.unenforced !== null && !isWarned)
        options.warn(`limits of residents are not enforced here: ${started.unenforced}; see caisson doctor`);
      isWarned ||= started.unenforced !== null;
      return started;
    },
    sweep: () => sweep(options),
  };
}

async function start(options: ResidentStarterOptions, plan: ResidentPlan): Promise<ResidentProcess> {
  const { compute, kv, clock, settings, entry } = options;
  compute.spares.warmEntry(entry); // starts while its job is composed
  const resident = createPrefixedId('res', clock);
  const paths = startPaths(settings.stateDir, resident);
  const host = describeHost();
  kv.set(SPACE, resident, { host }); // SR1
  let handle: WorkerHandle | undefined;
  try {
    const limits = openLimits(options.compute, resident, plan);
    const job = await composeJob(options, plan, { resident, cgroup: limits.procsFiles });
    for (const folder of [paths.folder, residentPaths(settings.stateDir, plan.key).state])
      mkdirSync(folder, { recursive: true, mode: 0o700 });
    await writeFile(paths.job, JSON.stringify(job), { mode: 0o600, flag: 'wx' });
    const worker = await compute.start({
      key: resident,
      jobFile: paths.job,
      env: {},
      path: settings.path,
      cwd: settings.stateDir,
      entry,
    });
    handle = worker.handle;
    kv.set(SPACE, resident, { host, handle: { ...handle } });
    return describeStarted({
      worker,
      job,
      unenforced: describeUnenforced(plan, limits),
      onLost: () => compute.spares.warmEntry(entry), // starts while what is left is removed
      cleanUp: (isProvenGone) => cleanUpOrWarn(options, resident, { handle: worker.handle, isProvenGone }),
    });
  } catch (error) {
    await cleanUpOrWarn(options, resident, definedOnly({ handle })); // a sweep would not find one without its row
    if (error instanceof WorkerStartError) throw error;
    throw new WorkerStartError(`${plan.key} could not be started: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

async function composeJob(
  options: ResidentStarterOptions,
  plan: ResidentPlan,
  start: { readonly resident: string; readonly cgroup: WorkerLimits['procsFiles'] },
) {
  return composeResidentJob(options.settings, plan, {
    ...start,
    hide: [...options.listHidden(), ...listProjectSecrets(options.settings.projectRoot)],
    binds: await options.listBinds(),
    times: { ...TIMES, ...options.times },
  });
}

/** A limit that a person set and that cannot be enforced is refused, as for runs. */
function openLimits(
  compute: ResidentStarterOptions['compute'],
  resident: string,
  { key, grant }: ResidentPlan,
): WorkerLimits {
  const limits = compute.limit(resident, definedOnly(grant.limits));
  const chosen: readonly string[] = grant.chosenLimits ?? ['cpus'];
  const unenforced = listUnenforced(definedOnly(grant.limits), limits).filter((name) =>
    chosen.includes(name),
  );
  if (unenforced.length === 0) return limits;
  throw new WorkerStartError(
    `${key} was not started: its limit ${unenforced.join(', ')} was set and cannot be enforced here: ${limits.why ?? 'no cgroup'}. Remove it, or see caisson doctor.`,
  );
}

function describeUnenforced({ grant }: ResidentPlan, limits: WorkerLimits): string | null {
  const names = listUnenforced(definedOnly(grant.limits), limits);
  return names.length === 0 ? null : `${names.join(', ')} (${limits.why ?? 'no cgroup'})`;
}

interface LeftWorker {
  readonly handle?: WorkerHandle;
  readonly isProvenGone?: boolean;
}

/** What cannot be removed stays for the next host: its row says so. Never rejects. */
async function cleanUpOrWarn(
  options: ResidentStarterOptions,
  resident: string,
  left: LeftWorker,
): Promise<void> {
  await cleanUp(options, resident, left).catch((error: unknown) =>
    options.warn(`something of ${resident} is left: ${(error as Error).message}`),
  );
}

/** SR2. Also for a start that failed half-way. */
async function cleanUp(
  { compute, kv, settings, warn }: ResidentStarterOptions,
  resident: string,
  { handle, isProvenGone = false }: LeftWorker,
): Promise<void> {
  if (handle === undefined) await compute.sweep(resident);
  else {
    const pids = await compute.stop(handle, { isProvenGone });
    if (pids.length > 0)
      warn(`processes of ${resident} could not be ended and may still exist: pid ${pids.join(', ')}`);
    await compute.release(handle);
  }
  await removeTree(startPaths(settings.stateDir, resident).folder);
  kv.delete(SPACE, resident);
}

/** What another host left that does not run any more. What of it cannot be removed keeps nobody from working. */
async function sweep(options: ResidentStarterOptions): Promise<void> {
  for (const { key, value } of options.kv.list(SPACE)) {
    if (!ResidentId.safeParse(key).success) continue;
    const row = StartRow.safeParse(value).data;
    if (row !== undefined && isSameProcess(row.host.pid, row.host.startTime)) continue;
    await cleanUpOrWarn(options, key, definedOnly({ handle: row?.handle }));
  }
}

function describeHost(): { pid: number; startTime: string } {
  return { pid: process.pid, startTime: readProcess(process.pid)?.startTime ?? '0' };
}
