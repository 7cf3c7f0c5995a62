/** Starts a long-lived child in its own session, with a control pipe and an output pipe beside its three streams. */
import { spawn, type ChildProcess } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { readProcess } from './process-tree.ts';

export interface ChildOptions {
  readonly file: string;
  readonly args: readonly string[];
  /** The whole environment; nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}

export interface Child {
  readonly pid: number;
  /** In the kernel's ticks; pid and start time identify the process for ever. */
  readonly startTime: string;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Appears as fd 3 in the child; its end means that we are gone. */
  readonly control: Writable;
  /** Appears as fd 4 in the child, which writes to it. */
  readonly output: Readable;
  /** Resolves on exit, even when another process still keeps the streams open. */
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  kill(signal: NodeJS.Signals): void;
  /** Whether the child keeps our process alive; it does at first. */
  ref(): void;
  unref(): void;
}

/** Resolves once the process exists; rejects when the program cannot be started. */
export function startChild(options: ChildOptions): Promise<Child> {
  const process = spawn(options.file, [...options.args], {
    cwd: options.cwd,
    env: { ...options.env },
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe', 'pipe', 'pipe'],
  });
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    process.once('exit', (code, signal) => resolve({ code, signal }));
  });
  return new Promise((resolve, reject) => {
    process.once('error', reject);
    process.once('spawn', () => resolve(describeChild(process, exited)));
  });
}

/** Starts a process that outlives us: not our session, and no pipe but that of its `input`. Resolves with its pid. */
export function startDetached({
  input,
  ...options
}: ChildOptions & { readonly logFd: number; readonly input?: string }): Promise<number> {
  const process = spawn(options.file, [...options.args], {
    cwd: options.cwd,
    env: { ...options.env },
    detached: true,
    stdio: [input === undefined ? 'ignore' : 'pipe', options.logFd, options.logFd],
  });
  process.stdin?.on('error', () => undefined); // a child that died before reading says so itself
  process.stdin?.end(input);
  return new Promise((resolve, reject) => {
    process.once('error', reject);
    process.once('spawn', () => {
      process.unref();
      resolve(process.pid ?? 0);
    });
  });
}

function describeChild(process: ChildProcess, exited: Child['exited']): Child {
  const pid = process.pid ?? 0;
  const control = process.stdio[3] as Writable;
  const stdin = process.stdin as Writable;
  const handles = [process, ...process.stdio] as { ref(): void; unref(): void }[];
  for (const pipe of [control, stdin]) pipe.on('error', () => undefined); // `exited` reports a child that died before reading
  return {
    pid,
    startTime: readProcess(pid)?.startTime ?? '0',
    stdin,
    stdout: process.stdout as Readable,
    stderr: process.stderr as Readable,
    control,
    output: process.stdio[4] as Readable,
    exited,
    kill: (signal) => void process.kill(signal),
    ref: () => handles.forEach((handle) => handle.ref()),
    unref: () => handles.forEach((handle) => handle.unref()),
  };
}
