// One host, watched from outside: its CPU time and that of its programs from the kernel's own count, how that is shared from
// samples, and from a log of strace what each of them started, synced and wrote.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, watch } from 'node:fs';
import { join } from 'node:path';
import type { HostReport } from './host.ts';
import { partOf, type Part } from './parts.ts';
import { underReaper } from './reaper.ts';
import { sampleProcesses, type ProcessSamples } from './sample-processes.ts';

/** A host to be watched; its marks are in a folder of its own. */
export interface Watched {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly marks: string;
}

/** What a part did between the marks. */
export interface PartCounts {
  programs: number;
  commits: number;
  fsyncs: number;
  /** Names and nameless files made on a disk. */
  files: number;
}

export interface WatchedTimes {
  /** What one piece of work took on average. */
  readonly report: HostReport;
  /** CPU time by part, and how long it was there, in all. */
  readonly samples: ReadonlyMap<Part, number>;
  readonly walls: ReadonlyMap<Part, number>;
}

/** Calls that make a folder, a link or a FIFO; some processors have only the newer ones. */
const MAKING = ['?mkdir', 'mkdirat', '?link', 'linkat', '?symlink', 'symlinkat', '?mknod', 'mknodat'];

export async function watchTimes(watched: Watched): Promise<WatchedTimes> {
  const { printed, samples } = await watchHost(watched, underReaper(watched.argv));
  const report = JSON.parse(printed) as HostReport;
  return { report, samples: samples.times(), walls: samples.wallTimes() };
}

export async function watchCalls(watched: Watched): Promise<ReadonlyMap<Part, PartCounts>> {
  const log = join(watched.marks, 'strace.log');
  const calls = `trace=execve,fsync,fdatasync,openat,${MAKING.join(',')}`;
  const strace = ['strace', '-f', '--seccomp-bpf', '-y', '-s', '4096', '-o', log, '-e', calls];
  const { samples } = await watchHost(watched, [...strace, ...watched.argv]);
  return countCalls(joinLines(readFileSync(log, 'utf8')), samples);
}

async function watchHost(
  { cwd, env, marks }: Watched,
  [file = '', ...args]: readonly string[],
): Promise<{ printed: string; samples: ProcessSamples }> {
  const child = spawn(file, args, { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] });
  let printed = '';
  child.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString('utf8')));
  const samples = sampleProcesses(child.pid ?? 0);
  const watcher = watch(marks, (_event, name) => {
    if (name === 'begin') samples.begin();
    if (name === 'end') samples.end();
  });
  const [code] = (await once(child, 'close')) as [number | null];
  watcher.close();
  samples.end();
  if (code !== 0) throw new Error(`${file} ended with ${code}`);
  return { printed, samples };
}

interface LoggedCall {
  readonly pid: string;
  readonly text: string;
}

/** A call during which another process made one is in two lines of the log. */
function joinLines(log: string): LoggedCall[] {
  const begun = new Map<string, string>();
  return log.split('\n').flatMap((line) => {
    const [, pid = '', said = ''] = /^(\d+)\s+(.*)$/.exec(line) ?? [];
    const [, beginning] = /^(.*) <unfinished \.\.\.>$/.exec(said) ?? [];
    if (beginning !== undefined) begun.set(pid, beginning);
    const [, rest] = /^<\.\.\. \w+ resumed>(.*)$/.exec(said) ?? [];
    if (beginning !== undefined) return [];
    return [{ pid, text: rest === undefined ? said : `${begun.get(pid) ?? ''}${rest}` }];
  });
}

function countCalls(
  calls: readonly LoggedCall[],
  samples: Pick<ProcessSamples, 'partOfThread'>,
): Map<Part, PartCounts> {
  const counts = new Map<Part, PartCounts>();
  const programs = new Map<string, Part>();
  let isCounted = false;
  for (const { pid, text } of calls) {
    if (/^openat\(.*\/begin", .*O_CREAT/.test(text)) isCounted = true;
    else if (/^openat\(.*\/end", .*O_CREAT/.test(text)) isCounted = false;
    const words = /^execve\("[^"]*", \[(.*?)\], .* = 0$/.exec(text)?.[1];
    if (words !== undefined) programs.set(pid, partOf(words.slice(1).replaceAll('", "', ' ')));
    const part = programs.get(pid) ?? samples.partOfThread(pid) ?? 'host';
    const sum = counts.get(part) ?? { programs: 0, commits: 0, fsyncs: 0, files: 0 };
    for (const name of isCounted ? listCounted(text) : []) sum[name] += 1;
    counts.set(part, sum);
  }
  return counts;
}

/** A file that is made, or may be, also one without a name; and everything else that gets a name. */
const MADE = /^(openat\(.*O_(CREAT|TMPFILE).* = \d|(mkdir|link|symlink|mknod)(at)?\(.* = 0$)/;
/** The kernel's own files, and memory, such as bubblewrap's root; what `-y` says of the result is where a file really is. */
const NO_DISK = /^(openat\(.* = \d+<\/(proc|sys|dev|newroot)\/|.*"\/?(new|old)root\b)/;

function listCounted(call: string): (keyof PartCounts)[] {
  if (/^execve\(.* = 0$/.test(call)) return ['programs'];
  if (/^f(data)?sync\(.*ledger\S*-wal>/.test(call)) return ['fsyncs', 'commits'];
  if (/^f(data)?sync\(/.test(call)) return ['fsyncs'];
  return MADE.test(call) && !NO_DISK.test(call) ? ['files'] : [];
}
