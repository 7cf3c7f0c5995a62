// Ends every process of a launch that has no PID namespace around it. One pass kills what it finds; passes are
// repeated until one finds nothing, because a process that was just forking may have left a child behind.
import { setTimeout as delay } from 'node:timers/promises';
import {
  descendants,
  findByMarker,
  isSameProcess,
  listPids,
  readProcess,
  readProcFile,
  type ProcessInfo,
} from '../processes/index.ts';
import type { SweepGroup } from './sweep-group.ts';

/** Unique for each launch, unlike the attempt's own marker: two launches of one attempt never sweep each other. */
export const LAUNCH_MARKER_NAME = 'CAISSON_LAUNCH';

const PASS_PAUSE_MS = 3;
const SWEEP_LIMIT_MS = 10_000;

export interface SweepTarget {
  readonly leader: { readonly pid: number; readonly startTime: string };
  readonly launchId: string;
  readonly group: SweepGroup;
}

/** Resolves when a pass over all processes finds none of this launch. */
export async function sweepSurvivors(target: SweepTarget): Promise<void> {
  const startedAt = performance.now();
  const known = new Map<number, string>();
  target.group.freeze();
  for (;;) {
    const found = findSurvivors(target, known);
    if (found.length === 0 || performance.now() - startedAt > SWEEP_LIMIT_MS) break;
    for (const each of found) {
      known.set(each.pid, each.startTime);
      killExactly(each);
    }
    // A frozen process handles its SIGKILL only once it is thawed.
    target.group.thaw();
    await delay(PASS_PAUSE_MS);
    target.group.freeze();
  }
  target.group.thaw();
}

/**
 * The running processes of the launch. Descendants are searched from every process ever found, because a killed parent
 * no longer leads to its children.
 */
export function findSurvivors(
  target: SweepTarget,
  known: ReadonlyMap<number, string> = new Map(),
): ProcessInfo[] {
  const found = new Map<number, ProcessInfo>();
  const add = (info: ProcessInfo | null): void => {
    if (info === null || info.state === 'Z' || info.state === 'X' || info.pid === process.pid) return;
    found.set(info.pid, info);
  };
  for (const info of findByMarker(LAUNCH_MARKER_NAME, target.launchId)) add(info);
  for (const pid of target.group.pids()) add(readProcess(pid));
  for (const info of sessionMembers(target.leader)) add(info);
  for (const info of [...found.values()]) descendants(info.pid).forEach(add);
  for (const [pid, startTime] of known) if (isSameProcess(pid, startTime)) add(readProcess(pid));
  return [...found.values()];
}

/** The processes in the session of the launch; a session outlives its leader, and so does its number. */
function sessionMembers(leader: SweepTarget['leader']): ProcessInfo[] {
  const members: ProcessInfo[] = [];
  for (const pid of listPids()) {
    const stat = readProcFile(`/proc/${pid}/stat`);
    const session = stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[3];
    if (session !== String(leader.pid)) continue;
    const info = readProcess(pid);
    // A reused number would belong to a younger process only if the leader's session were gone before; the kernel does
    // not reuse a pid while a session of that number has members.
    if (info !== null && Number(info.startTime) >= Number(leader.startTime)) members.push(info);
  }
  return members;
}

function killExactly(info: ProcessInfo): void {
  if (!isSameProcess(info.pid, info.startTime)) return;
  try {
    process.kill(info.pid, 'SIGKILL');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code !== 'ESRCH' && code !== 'EPERM') throw error;
  }
}
