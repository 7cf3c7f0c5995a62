// One sandbox from its start to its end.
//
//   spawned ──► building ──ready──► go ──► running ──end or kill()──► bubblewrap gone ──► init gone ──► exited
//      └───ends────┴──► SandboxStartError
//
// bubblewrap keeps two processes: the outer one (our child) and `init`, first of the new PID namespace. When init is
// dead the kernel has already killed and reaped everything inside, `setsid` or not (S1). Both die with our process.
// Until both are armed to do so the program waits at the start gate and the launch guard (launch-helper.ts) watches.
import type { ChildProcess } from 'node:child_process';
import { isSameProcess, sendSignal, type ProcessInfo } from '../processes/index.ts';
import {
  MARKER_NAME,
  type LaunchOptions,
  type SandboxExit,
  type SandboxProcess,
  type SandboxSpec,
} from './contract.ts';
import { listChannels } from './channels.ts';
import { SandboxStartError } from './errors.ts';
import { HeadCapture } from './head-capture.ts';
import {
  findAgent,
  gone,
  killWithChildren,
  nameProcess,
  readInitPid,
  type NamedProcess,
} from './init-process.ts';
import { guardLaunch, launchHelper } from './launch-helper.ts';
import { holdMountPoints } from './mount-points.ts';
import { spawnBwrap, type SpawnedBwrap } from './spawn-bwrap.ts';
import { interruptProgram } from './signal-program.ts';
import { findVanished, startFailure } from './start-failure.ts';
import { readGateWord, openGate } from './start-gate.ts';
import { verifyLayers } from './verify-layers.ts';
import { isOwnProgram, listBelow, terminateAll, untilGone } from './terminate-tree.ts';

const MAX_VANISHED = 8;

/** The present knowledge about a sandbox. */
interface View {
  init: NamedProcess | null;
  agent: NamedProcess | null;
  /** bubblewrap is stopped, so that the end of the program does not end all. */
  isHeld: boolean;
}

/** This machine cannot put layers on folders: they are read-only from now on. */
let areLayersRefused = false;

class LayersRefused extends Error {}

function withoutStore({ layers, ...spec }: SandboxSpec): SandboxSpec {
  return layers === undefined ? spec : { ...spec, layers: { folders: layers.folders } };
}

/** Starts the program in the sandbox. Resolves when the sandbox is built and the program is being executed. */
export async function launchBwrap(spec: SandboxSpec, options: LaunchOptions): Promise<SandboxProcess> {
  const releaseMountPoints = holdMountPoints(spec);
  const vanished = new Set<string>();
  let given = areLayersRefused ? withoutStore(spec) : spec;
  const marker = spec.env[MARKER_NAME];
  for (;;) {
    const guarded = marker === undefined ? () => {} : guardLaunch(`${MARKER_NAME}=${marker}`);
    try {
      return await bringUp(await spawnBwrap(given, options, vanished), given, options, releaseMountPoints);
    } catch (error) {
      if (error instanceof LayersRefused) {
        areLayersRefused = true;
        given = withoutStore(spec);
        continue;
      }
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

async function bringUp(
  spawned: SpawnedBwrap,
  spec: SandboxSpec,
  options: LaunchOptions,
  releaseMountPoints: () => void,
): Promise<SandboxProcess> {
  const { child, gate, status } = spawned;
  const ending = Promise.withResolvers<SandboxExit>();
  child.once('exit', (code, signal) => ending.resolve({ code, signal }));
  const view: View = { init: null, agent: null, isHeld: false };
  const kill = (): void => killSandbox(child, view);
  const word = readGateWord(gate);
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
    throw await startFailure(said, ending.promise, stderr, spec, view.init);
  }
  view.agent = findAgent(view.init);
  const limitsInotify = await finishView(spawned, spec, view.init, kill);
  openGate(gate);

  const streams = [spawned.stdout, stderr];
  const finish = async (): Promise<SandboxExit> => {
    const exit = await ending.promise;
    options.signal?.removeEventListener('abort', kill);
    await gone(view.init);
    await spawned.drain(streams);
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
    channels: listChannels(spec, child),
    limitsInotify,
    readOnlyLayers: spawned.readOnlyLayers,
    agentPid: () => agentPidOf(view),
    signalAgent: (signal) => signalAgent(child, view, signal, spec.ownPrograms ?? []),
    kill,
    exited: finish(),
  };
}

/** What is done in the namespaces while the program waits at the gate. Returns whether inotify is limited. */
async function finishView(
  { mounts, plan }: SpawnedBwrap,
  spec: SandboxSpec,
  init: NamedProcess | null,
  kill: () => void,
): Promise<boolean> {
  try {
    await verifyLayers(spec, plan, init?.pid ?? 0);
  } catch (error) {
    kill();
    await gone(init);
    throw error;
  }
  const { limitsInotify, isMounted } = await launchHelper().enter(init?.pid ?? 0, mounts);
  if (isMounted || mounts?.hasLayers !== true) return limitsInotify;
  kill();
  await gone(init);
  throw new LayersRefused();
}

function agentPidOf({ agent }: View): number | null {
  return agent !== null && isSameProcess(agent.pid, agent.startTime) ? agent.pid : null;
}

function signalAgent(
  child: ChildProcess,
  view: View,
  signal: 'SIGINT' | 'SIGTERM',
  ownPrograms: readonly string[],
): boolean {
  const pid = agentPidOf(view);
  if (pid === null || signal === 'SIGINT') return pid !== null && interruptProgram(pid);
  terminate(child, view, ownPrograms);
  return true;
}

function killSandbox(child: ChildProcess, view: View): void {
  // The program is already gone: bubblewrap, continued, reports how it ended and ends the rest.
  if (view.isHeld && agentPidOf(view) === null) return void child.kill('SIGCONT');
  if (view.init !== null && isSameProcess(view.init.pid, view.init.startTime))
    sendSignal(view.init.pid, 'SIGKILL');
  if (child.exitCode === null && child.signalCode === null) killWithChildren(child);
}

/** bubblewrap ends everything once the program has ended; while it is stopped, the others get their grace too. */
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
