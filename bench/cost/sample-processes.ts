// CPU time by program, read from /proc every few milliseconds. What a process does after the last look is not seen.
import { readdirSync, readFileSync } from 'node:fs';
import { partOf, type Part } from './parts.ts';

const LOOK_MS = 10;
const TICK_NS = 10_000_000;

interface Seen {
  part: Part;
  /** CPU time of the process so far, and what of it is of the programs before this one. */
  totalNs: number;
  beforeNs: number;
}

export interface ProcessSamples {
  /** From now on what new processes below the root take is counted. */
  begin(): void;
  end(): void;
  /** Which part a process or a thread belongs to, as it was seen last. */
  partOfThread(id: string): Part | undefined;
  /** CPU time by part, in milliseconds. */
  times(): Map<Part, number>;
  /** How long processes of each part were there, in milliseconds; parts overlap. */
  wallTimes(): ReadonlyMap<Part, number>;
}

export function sampleProcesses(rootPid: number): ProcessSamples {
  const seen = new Map<string, Seen>();
  const early = new Set<string>();
  const threads = new Map<string, Part>();
  const spentMs = new Map<Part, number>();
  const wallMs = new Map<Part, number>();
  let lookedAtMs = performance.now();
  const spend = (key: string, { part, totalNs, beforeNs }: Seen): void => {
    if (!early.has(key)) spentMs.set(part, (spentMs.get(part) ?? 0) + (totalNs - beforeNs) / 1e6);
  };
  const look = (): void => {
    const there = new Set<Part>();
    for (const { pid, key } of listBelow(rootPid)) {
      const found = readProcess(pid);
      if (found === null) continue;
      const { part, cpuNs } = found;
      if (!early.has(key)) there.add(part);
      for (const tid of found.threads) threads.set(tid, part);
      const last = seen.get(key) ?? { part, totalNs: 0, beforeNs: 0 };
      if (last.part !== part) spend(key, last);
      const beforeNs = last.part === part ? last.beforeNs : last.totalNs;
      seen.set(key, { part, totalNs: Math.max(cpuNs, last.totalNs), beforeNs });
    }
    const sinceMs = performance.now() - lookedAtMs;
    lookedAtMs += sinceMs;
    for (const part of there) wallMs.set(part, (wallMs.get(part) ?? 0) + sinceMs);
  };
  const timer = setInterval(look, LOOK_MS);
  return {
    begin() {
      look();
      for (const key of seen.keys()) early.add(key);
      wallMs.clear();
    },
    end: () => clearInterval(timer),
    partOfThread: (id) => threads.get(id),
    times() {
      for (const [key, last] of seen) spend(key, last);
      seen.clear();
      return spentMs;
    },
    wallTimes: () => wallMs,
  };
}

interface Listed {
  readonly pid: string;
  /** A number is given again; with the time of its start it names one process. */
  readonly key: string;
}

function listBelow(rootPid: number): Listed[] {
  const found = new Map<string, { parent: string; key: string }>();
  for (const pid of listQuietly('/proc')) {
    const fields = /^\d+$/.test(pid) ? statOf(pid) : [];
    if (fields.length > 19) found.set(pid, { parent: fields[1] ?? '', key: `${pid}@${fields[19]}` });
  }
  const isBelow = (pid: string): boolean =>
    pid === String(rootPid) || (found.has(pid) && isBelow(found.get(pid)?.parent ?? ''));
  return [...found].filter(([pid]) => isBelow(pid)).map(([pid, { key }]) => ({ pid, key }));
}

/** By nanoseconds of its threads, or by ticks, in which threads that have ended are counted as well. */
function readProcess(pid: string): { part: Part; cpuNs: number; threads: readonly string[] } | null {
  const commandLine = readQuietly(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim();
  if (commandLine === '') return null;
  const threads = listQuietly(`/proc/${pid}/task`);
  const byThreads = threads
    .map((tid) => Number(readQuietly(`/proc/${pid}/task/${tid}/schedstat`).split(' ')[0]))
    .reduce((sum, ns) => sum + ns, 0);
  const fields = statOf(pid);
  const byTicks = (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) * TICK_NS;
  return { part: partOf(commandLine), cpuNs: Math.max(byThreads, byTicks), threads };
}

const statOf = (pid: string): string[] =>
  readQuietly(`/proc/${pid}/stat`).split(') ').at(-1)?.split(' ') ?? [];

/** A process may end while it is looked at. */
function readQuietly(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

function listQuietly(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
