/** Reads a trace of system calls: which names were given to files that a power cut could still take away. */
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** The calls to trace; paths of open files are shown with `-y`. */
export const TRACE = [
  '-f',
  '-y',
  '--seccomp-bpf',
  '-qq',
  '-e',
  'trace=fsync,fdatasync,rename,renameat,renameat2,link,linkat',
];

interface Rename {
  readonly from: string;
  readonly to: string;
  readonly at: number;
}

/** `isRelied`: whether something relies on what has this name. Returns what is wrong, one line each. */
export function findUnsynced(traceFile: string, isRelied: (path: string) => boolean): string[] {
  const calls = readCalls(traceFile);
  const syncs = calls.map(syncedPath);
  const wasSynced = (path: string, from: number, to?: number): boolean =>
    syncs.slice(from, to).includes(path);
  return calls
    .flatMap((line, at): Rename[] => {
      if (!/\b(rename|link)(at|at2)?\(/.test(line)) return [];
      const [from = '', to = ''] = [...line.matchAll(/"([^"]*)"/g)].map((match) => match[1] ?? '');
      return [{ from, to, at }];
    })
    .filter(({ to }) => isRelied(to))
    .flatMap(({ from, to, at }) => [
      ...(wasSynced(from, 0, at) ? [] : [`${to}: its bytes were not synced before it got its name`]),
      // A folder that is named by its descriptor has another name in the trace.
      ...(to.startsWith('/proc/') || wasSynced(dirname(to), at)
        ? []
        : [`${to}: its folder was not synced after it`]),
    ]);
}

/** The files and folders that were synced, in order. */
export function readSyncs(traceFile: string): string[] {
  return readCalls(traceFile)
    .map(syncedPath)
    .filter((path) => path !== null);
}

function readCalls(traceFile: string): string[] {
  return joinResumed(readFileSync(traceFile, 'utf8').split('\n')).filter((line) => line.endsWith(' = 0'));
}

function syncedPath(line: string): string | null {
  return /(?:fsync|fdatasync)\(\d+<(.+)>\)/.exec(line)?.[1] ?? null;
}

/** A call that another thread interrupted is on two lines. */
function joinResumed(lines: readonly string[]): string[] {
  const open = new Map<string, string>();
  return lines.flatMap((line) => {
    const pid = line.slice(0, line.indexOf(' '));
    const unfinished = / <unfinished \.\.\.>$/.exec(line);
    if (unfinished !== null) {
      open.set(pid, line.slice(0, unfinished.index));
      return [];
    }
    const resumed = /<\.\.\. \w+ resumed>/.exec(line);
    if (resumed === null) return [line];
    return [`${open.get(pid) ?? ''}${line.slice(resumed.index + resumed[0].length)}`];
  });
}
