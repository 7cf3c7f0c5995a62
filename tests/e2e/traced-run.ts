import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { BIN, type Project } from './project.ts';

export interface TraceOptions {
  /** System calls to log. */
  readonly calls: string;
  /** What happens to some of them, as strace writes it. */
  readonly inject?: string;
  /** Log the begin and the end of a call as two lines where another process or thread calls in between. */
  readonly showsOverlaps?: boolean;
  /** Keep the calls of each process together, not in the order of all: then no call is in two lines, and all are counted. */
  readonly isByProcess?: boolean;
  /** Log the time of each call, in seconds, behind the number of the process. */
  readonly showsTimes?: boolean;
}

/** Runs the built CLI to its end under strace. Returns what it printed, and the calls of all its processes that succeeded. */
export function traceCaisson(
  project: Project,
  { calls, inject, showsOverlaps = false, showsTimes = false, isByProcess = false }: TraceOptions,
  ...args: string[]
): { readonly stdout: string; readonly log: string } {
  const file = join(project.root, '../trace');
  const words = [
    ...[
      isByProcess ? '-ff' : '-f',
      '--seccomp-bpf',
      '-qq',
      '-y',
      ...(showsOverlaps ? [] : ['-z']),
      ...(showsTimes ? ['-ttt'] : []),
      '-s',
      '256',
      '-o',
      file,
      '-e',
      `trace=${calls}`,
    ],
    ...(inject === undefined ? [] : ['-e', `inject=${inject}`]),
  ];
  const stdout = execFileSync('strace', [...words, process.execPath, BIN, ...args], {
    cwd: project.root,
    env: project.env,
    stdio: ['ignore', 'pipe', 'ignore'],
    encoding: 'utf8',
  });
  return { stdout, log: isByProcess ? readParts(file) : readFileSync(file, 'utf8') };
}

/** A file for each process, with its number behind the name. */
function readParts(file: string): string {
  const names = readdirSync(dirname(file)).filter((name) => name.startsWith(`${basename(file)}.`));
  return names.map((name) => readFileSync(join(dirname(file), name), 'utf8')).join('');
}
