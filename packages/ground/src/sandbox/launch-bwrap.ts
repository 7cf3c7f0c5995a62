// One start of bubblewrap.
//
//   spawned ──child-pid──► running ──program ends / kill()──► bubblewrap gone ──► init gone ──► drained = exited
//      └──exit before child-pid──► SandboxStartError
//
// bubblewrap keeps two processes: the outer one (our child) and `init`, first of the new PID namespace. When init is
// dead the kernel has already killed and reaped everything inside, `setsid` or not (S1). Both die with our process.
import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync } from 'node:fs';
import type { Duplex, Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { childPids, isSameProcess, readProcess } from '../process-tree.ts';
import { openAnonymousFile } from './anonymous-file.ts';
import { buildArguments } from './bwrap-arguments.ts';
import { findBwrap } from './bwrap-location.ts';
import { enterCgroups } from './cgroup-entry.ts';
import {
  MARKER_NAME,
  type LaunchOptions,
  type SandboxExit,
  type SandboxProcess,
  type SandboxSpec,
} from './contract.ts';
import { drainStreams } from './drain.ts';
import { SandboxStartError, SandboxUnavailableError } from './errors.ts';
import { HeadCapture } from './head-capture.ts';
import { coverInheritedFds } from './inherited-fds.ts';
import { holdMailboxMountPoint } from './mailbox-mount-point.ts';
import { planMounts } from './mount-plan.ts';
import { buildSeccompProgram } from './seccomp.ts';

const INIT_GONE_POLL_MS = 2;
/** A process in an uninterruptible wait (a dead network disk) cannot be killed by anybody: then we stop waiting. */
const INIT_GONE_LIMIT_MS = 10_000;

interface NamedProcess {
  readonly pid: number;
  readonly startTime: string;
}

interface StatusReport {
  /** Resolves with the pid of init, or `null` when bubblewrap ended without naming one. */
  readonly initPid: Promise<number | null>;
  /** Whether the program was really executed; known once the stream has ended. */
  hasRun(): boolean;
  readonly ended: Promise<void>;
}

/** Starts the program behind the wall. Resolves once init exists. */
export async function launchBwrap(spec: SandboxSpec, options: LaunchOptions): Promise<SandboxProcess> {
  const releaseMailbox = holdMailboxMountPoint(spec);
  try {
    const child = spawnBwrap(spec, options);
    const startTime = await started(child, spec);
    return await supervise(child, startTime, spec, options, releaseMailbox);
  } catch (error) {
    releaseMailbox();
    throw error;
  }
}

function spawnBwrap(spec: SandboxSpec, options: LaunchOptions): ChildProcess {
  const bwrap = options.bwrapPath ?? findBwrap();
  if (bwrap === null) {
    throw new SandboxUnavailableError(
      'bubblewrap (bwrap) is not installed, so the sandbox cannot be built.',
      {
        remedy: 'Install the package `bubblewrap`, or ask for no sandbox by name with `--sandbox none`.',
      },
    );
  }
  const extraFds = spec.extraFds ?? [];
  const statusFd = 3 + extraFds.length;
  const attached: number[] = [];
  const attach = (content: string | Buffer): number => statusFd + attached.push(openAnonymousFile(content));
  try {
    const words = [
      ...['--json-status-fd', String(statusFd)],
      ...(spec.seccomp ? ['--seccomp', String(attach(buildSeccompProgram()))] : []),
      ...buildArguments(spec, planMounts(spec), attach),
    ];
    const argsFd = attach(words.map((word) => `${word}\0`).join(''));
    const [file = bwrap, ...args] = enterCgroups(spec.cgroupPaths, [
      bwrap,
      '--args',
      String(argsFd),
      '--',
      ...spec.argv,
    ]);
    const marker = spec.env[MARKER_NAME];
    const taken = statusFd + 1 + attached.length;
    return spawn(file, args, {
      cwd: '/',
      detached: true,
      env: marker === undefined ? {} : { [MARKER_NAME]: marker },
      stdio: [
        spec.stdin === 'pipe' ? 'pipe' : 'ignore',
        'pipe',
        'pipe',
        ...extraFds,
        'pipe',
        ...attached,
        ...coverInheritedFds(taken),
      ],
    });
  } finally {
    for (const fd of attached) closeSync(fd);
  }
}

function started(child: ChildProcess, spec: SandboxSpec): Promise<string> {
  return new Promise((resolve, reject) => {
    child.once('error', (cause) => {
      reject(
        new SandboxStartError(`The sandbox for ${spec.argv[0]} could not be started: ${cause.message}`, {
          cause,
        }),
      );
    });
    child.once('spawn', () => resolve(readProcess(child.pid ?? 0)?.startTime ?? '0'));
  });
}

async function supervise(
  child: ChildProcess,
  startTime: string,
  spec: SandboxSpec,
  options: LaunchOptions,
  releaseMailbox: () => void,
): Promise<SandboxProcess> {
  const extraCount = spec.extraFds?.length ?? 0;
  const exit = Promise.withResolvers<{ code: number | null; signal: NodeJS.Signals | null }>();
  child.once('exit', (code, signal) => exit.resolve({ code, signal }));
  const status = readStatus(child.stdio[3 + extraCount] as Duplex);
  const stdout = child.stdout as Readable;
  const stderr = new HeadCapture();
  child.stderr?.pipe(stderr);

  const initPid = await status.initPid;
  if (initPid === null) {
    const { code, signal } = await exit.promise;
    stderr.resume();
    await drainStreams([stderr]);
    throw new SandboxStartError(
      `bubblewrap ended (${signal ?? code}) before ${spec.argv[0]} could run: ${stderr.head()}`,
    );
  }
  const init: NamedProcess = { pid: initPid, startTime: readProcess(initPid)?.startTime ?? 'gone' };

  const kill = (): void => {
    if (isSameProcess(init.pid, init.startTime)) sendSignal(init.pid, 'SIGKILL');
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
  };
  if (options.signal?.aborted) kill();
  options.signal?.addEventListener('abort', kill, { once: true });

  const finish = async (): Promise<SandboxExit> => {
    const { code, signal } = await exit.promise;
    options.signal?.removeEventListener('abort', kill);
    await gone(init);
    await drainStreams([stdout, stderr]);
    await status.ended;
    releaseMailbox();
    const startError =
      status.hasRun() || signal !== null ? null : stderr.head() || `bubblewrap ended with ${code}`;
    return { code, signal, startError };
  };
  const findAgent = rememberAgent(init);
  return {
    pid: child.pid ?? 0,
    startTime,
    initPid,
    stdin: child.stdin,
    stdout,
    stderr,
    channels: (spec.extraFds ?? []).map((each, index) =>
      each === 'pipe' ? (child.stdio[3 + index] as Duplex) : null,
    ),
    agentPid: findAgent,
    signalAgent: (signal) => {
      const pid = findAgent();
      return pid !== null && sendSignal(pid, signal);
    },
    kill,
    exited: finish(),
  };
}

/** bubblewrap reports init's pid at once and, only if the program was executed, its exit code at the end. */
function readStatus(stream: Duplex): StatusReport {
  const initPid = Promise.withResolvers<number | null>();
  const ended = Promise.withResolvers<void>();
  let text = '';
  stream.setEncoding('utf8');
  stream.on('data', (chunk: string) => {
    text += chunk;
    const found = /"child-pid":\s*(\d+)/.exec(text);
    if (found !== null) initPid.resolve(Number(found[1]));
  });
  const finish = (): void => {
    initPid.resolve(null);
    ended.resolve();
  };
  stream.once('error', finish);
  stream.once('end', finish);
  stream.once('close', finish);
  return { initPid: initPid.promise, ended: ended.promise, hasRun: () => text.includes('"exit-code"') };
}

async function gone(init: NamedProcess): Promise<void> {
  const startedAt = performance.now();
  while (isSameProcess(init.pid, init.startTime) && performance.now() - startedAt < INIT_GONE_LIMIT_MS) {
    await delay(INIT_GONE_POLL_MS);
  }
}

/** The program is init's oldest child; later ones are orphans that init adopted. */
function rememberAgent(init: NamedProcess): () => number | null {
  let agent: NamedProcess | null = null;
  return () => {
    if (agent === null && isSameProcess(init.pid, init.startTime)) {
      const children = childPids(init.pid).map(readProcess);
      agent =
        children
          .filter((child) => child !== null)
          .sort((a, b) => Number(a.startTime) - Number(b.startTime))[0] ?? null;
    }
    return agent !== null && isSameProcess(agent.pid, agent.startTime) ? agent.pid : null;
  };
}

function sendSignal(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}
