// One sandbox from its start to its end.
//
//   spawned ──► building ──ready──► go ──► running ──end or kill()──► bubblewrap gone ──► init gone ──► exited
//      └───ends────┴──► SandboxStartError
//
// bubblewrap keeps two processes: the outer one (our child) and `init`, first of the new PID namespace. When init is
// dead the kernel has already killed and reaped everything inside, `setsid` or not (S1). Both die with our process,
// and until both are armed to do so the program waits at the gate and the launch guard (launch-guard.ts) watches.
import type { ChildProcess } from 'node:child_process';
import type { Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { childPids, isSameProcess, readProcess, type ProcessInfo } from '../processes/index.ts';
import {
  MARKER_NAME,
  type LaunchOptions,
  type SandboxExit,
  type SandboxProcess,
  type SandboxSpec,
} from './contract.ts';
import { diagnose } from './diagnose.ts';
import { drainStreams } from './drain.ts';
import { SandboxStartError, SandboxUnavailableError } from './errors.ts';
import { HeadCapture } from './head-capture.ts';
import { takeInotifyLimiter } from './inotify-limit.ts';
import { launchGuard } from './launch-guard.ts';
import { holdMountPoints } from './mount-points.ts';
import { spawnBwrap, type SpawnedBwrap } from './spawn-bwrap.ts';
import { interruptProgram, sendSignal } from './signal-program.ts';
import { hearGate, openGate } from './start-gate.ts';
import { isOwnProgram, listBelow, terminateAll, untilGone } from './terminate-tree.ts';

const INIT_GONE_POLL_MS = 2;
/** A process in an uninterruptible wait (a dead network disk) cannot be killed by anybody: then we stop waiting. */
const INIT_GONE_LIMIT_MS = 10_000;

/** A clone with all namespaces takes some milliseconds. */
const STOPPED_LIMIT_MS = 100;
const STOPPED_POLL_MS = 0.2;
const NOBODY_WAKES = new Int32Array(new SharedArrayBuffer(4));

const MAX_VANISHED = 8;

interface NamedProcess {
  readonly pid: number;
  readonly startTime: string;
}

/** What is known of a sandbox by now. */
interface View {
  init: NamedProcess | null;
  agent: NamedProcess | null;
  /** bubblewrap stands still, so that the end of the program is not the end of all. */
  isHeld: boolean;
}

interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** Starts the program behind the wall. Resolves when the wall stands and the program is being executed. */
export async function launchBwrap(spec: SandboxSpec, options: LaunchOptions): Promise<SandboxProcess> {
  const releaseMountPoints = holdMountPoints(spec);
  const vanished = new Set<string>();
  const marker = spec.env[MARKER_NAME];
  for (;;) {
    const guarded = marker === undefined ? () => {} : launchGuard().launching(`${MARKER_NAME}=${marker}`);
    try {
      return await bringUp(spawnBwrap(spec, options, vanished), spec, options, releaseMountPoints);
    } catch (error) {
      const path = findVanished(error);
      if (path !== null && !vanished.has(path) && vanished.size < MAX_VANISHED) {
        vanished.add(path);
        continue;
      }
      releaseMountPoints();
      throw error;
    } finally {
      guarded();
    }
  }
}

/** What was to be covered may be removed by its owner while the wall is built: then there is nothing to cover. */
function findVanished(error: unknown): string | null {
  if (!(error instanceof SandboxStartError)) return null;
  return (
    /Can't (?:create file at|mkdir|mkdir parents for) (\/.+): /.exec(error.message)?.[1] ??
    / on \/newroot(\/.+): /.exec(error.message)?.[1] ??
    null
  );
}

async function bringUp(
  spawned: SpawnedBwrap,
  spec: SandboxSpec,
  options: LaunchOptions,
  releaseMountPoints: () => void,
): Promise<SandboxProcess> {
  const { child, gate, status } = spawned;
  const inotify = takeInotifyLimiter();
  const ending = Promise.withResolvers<Ending>();
  child.once('exit', (code, signal) => ending.resolve({ code, signal }));
  const kill = (): void => {
    // The program is gone already: bubblewrap, let go, tells how it ended and takes the rest along.
    if (view.isHeld && agentPid() === null) return void child.kill('SIGCONT');
    if (view.init !== null && isSameProcess(view.init.pid, view.init.startTime))
      sendSignal(view.init.pid, 'SIGKILL');
    if (child.exitCode === null && child.signalCode === null) killWithChildren(child);
  };
  const view: View = { init: null, agent: null, isHeld: false };
  const agentPid = (): number | null =>
    view.agent !== null && isSameProcess(view.agent.pid, view.agent.startTime) ? view.agent.pid : null;
  const word = hearGate(gate);
  const initPid = readInitPid(status);
  const startTime = await spawnedAt(child, spec);
  options.signal?.addEventListener('abort', kill, { once: true });
  if (options.signal?.aborted) kill();

  const stderr = new HeadCapture();
  spawned.stderr.pipe(stderr);
  view.init = nameProcess(await initPid);
  const said = await word;
  if (said !== 'ready') {
    options.signal?.removeEventListener('abort', kill);
    inotify.cancel();
    throw await startFailure(said, ending.promise, stderr, spec, view.init);
  }
  view.agent = findAgent(view.init);
  const limitsInotify = view.init !== null && (await inotify.limit(view.init.pid));
  openGate(gate);

  const streams = [spawned.stdout, stderr];
  const finish = async (): Promise<SandboxExit> => {
    const exit = await ending.promise;
    options.signal?.removeEventListener('abort', kill);
    await gone(view.init);
    await drainStreams(streams);
    releaseMountPoints();
    return exit;
  };
  return {
    pid: child.pid ?? 0,
    startTime,
    initPid: view.init?.pid ?? null,
    stdin: child.stdin,
    stdout: spawned.stdout,
    stderr,
    channels: (spec.extraFds ?? []).map((each, index) =>
      each === 'pipe' ? (child.stdio[3 + index] as Duplex) : null,
    ),
    limitsInotify,
    agentPid,
    signalAgent: (signal) => {
      const pid = agentPid();
      if (pid === null || signal === 'SIGINT') return pid !== null && interruptProgram(pid);
      terminate(child, view, spec.ownPrograms ?? []);
      return true;
    },
    kill,
    exited: finish(),
  };
}

/** bubblewrap ends everything once the program has ended; held still, it lets the others have their grace too. */
function terminate(child: ChildProcess, view: View, ownPrograms: readonly string[]): void {
  const { init } = view;
  if (init === null) return; // nothing is known to be below it
  const others = (): ProcessInfo[] => listBelow(init.pid).filter((info) => !isOwnProgram(info, ownPrograms));
  view.isHeld = child.kill('SIGSTOP');
  terminateAll(others);
  const isEnded = (): boolean => child.exitCode !== null || child.signalCode !== null;
  void untilGone(others, isEnded).then(() => child.kill('SIGCONT'));
}

function spawnedAt(child: ChildProcess, spec: SandboxSpec): Promise<string> {
  return new Promise((resolve, reject) => {
    child.once('spawn', () => resolve(nameProcess(child.pid ?? 0)?.startTime ?? 'gone'));
    child.once('error', (cause) => {
      reject(
        new SandboxStartError(`The sandbox for ${spec.argv[0]} could not be started: ${cause.message}`, {
          cause,
        }),
      );
    });
  });
}

/** bubblewrap reports init's pid as soon as it exists; `null` when it ended before. */
function readInitPid(status: Duplex): Promise<number | null> {
  return new Promise((resolve) => {
    let text = '';
    status.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      const found = /"child-pid":\s*(\d+)/.exec(text);
      if (found !== null) resolve(Number(found[1]));
    });
    status.once('error', () => resolve(null));
    status.once('close', () => resolve(null));
    status.once('end', () => resolve(null));
  });
}

async function startFailure(
  said: 'missing' | null,
  ending: Promise<Ending>,
  stderr: HeadCapture,
  spec: SandboxSpec,
  init: NamedProcess | null,
): Promise<SandboxStartError | SandboxUnavailableError> {
  const { code, signal } = await ending;
  stderr.resume();
  await gone(init);
  await drainStreams([stderr]);
  if (said === 'missing') {
    return new SandboxStartError(`The program ${spec.argv[0]} does not exist inside the sandbox.`, {
      remedy: 'Its folder must be visible there: a PATH entry, or a folder declared as toolchain.',
    });
  }
  const words = stderr.head() || 'it said nothing';
  const diagnosis = diagnose(words);
  if (diagnosis !== null) {
    return new SandboxUnavailableError(`The sandbox cannot be built: ${diagnosis.reason}.`, {
      remedy: diagnosis.remedy,
    });
  }
  return new SandboxStartError(
    `The sandbox ended (${signal ?? code}) before ${spec.argv[0]} could run: ${words}`,
  );
}

/** At the gate the program is init's only child; later init may have adopted orphans. */
function findAgent(init: NamedProcess | null): NamedProcess | null {
  return init === null ? null : nameProcess(childPids(init.pid)[0] ?? null);
}

function nameProcess(pid: number | null): NamedProcess | null {
  const info = pid === null ? null : readProcess(pid);
  return info === null ? null : { pid: info.pid, startTime: info.startTime };
}

async function gone(init: NamedProcess | null): Promise<void> {
  if (init === null) return;
  const startedAt = performance.now();
  while (isSameProcess(init.pid, init.startTime) && performance.now() - startedAt < INIT_GONE_LIMIT_MS) {
    await delay(INIT_GONE_POLL_MS);
  }
}

/**
 * Before bubblewrap is armed, its first child would outlive it: held still, it cannot make another one meanwhile. A
 * clone that is under way when the signal comes is finished first, so the children are listed once it really stands.
 */
function killWithChildren(child: ChildProcess): void {
  if (child.pid === undefined) return;
  child.kill('SIGSTOP');
  const until = performance.now() + STOPPED_LIMIT_MS;
  while (!isStill(child.pid) && performance.now() < until) Atomics.wait(NOBODY_WAKES, 0, 0, STOPPED_POLL_MS);
  for (const pid of childPids(child.pid)) sendSignal(pid, 'SIGKILL');
  child.kill('SIGKILL');
}

/** Stopped, or dead. */
function isStill(pid: number): boolean {
  const state = readProcess(pid)?.state;
  return state === undefined || 'TtZX'.includes(state);
}
