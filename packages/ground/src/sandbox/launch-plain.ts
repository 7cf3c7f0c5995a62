// Without a sandbox: a plain process in its own session. No namespace ends its tree for us, so every end of the program
// is followed by a sweep that searches for what is left in four ways: process group, descendants, cgroup, marker. A
// process that clears its environment, leaves its session, orphans itself and has no cgroup cannot be found: only the
// PID namespace of the real sandbox can contain it.
import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { isSameProcess, readProcess, type ProcessInfo } from '../processes/index.ts';
import { enterCgroups } from './cgroup-entry.ts';
import type { LaunchOptions, SandboxExit, SandboxProcess, SandboxSpec } from './contract.ts';
import { listChannels } from './channels.ts';
import { SandboxSpecError, SandboxStartError } from './errors.ts';
import { coverInheritedFds } from './inherited-fds.ts';
import { createOutputPipes, type OutputPipes } from './output-pipes.ts';
import { startPlainGuard } from './plain-guard.ts';
import { leavesFolder } from './real-path.ts';
import { interruptProgram } from './signal-program.ts';
import { openSweepGroup } from './sweep-group.ts';
import { findSurvivors, LAUNCH_MARKER_NAME, sweepSurvivors } from './sweep.ts';
import { isOwnProgram, terminateAll, untilGone } from './terminate-tree.ts';

const WITHOUT_NAMESPACE = { initPid: null, limitsInotify: false, readOnlyLayers: [] } as const;

/** Starts the program in its own session. Only its processes are contained. */
export async function launchPlain(spec: SandboxSpec, options: LaunchOptions): Promise<SandboxProcess> {
  const launchId = randomUUID();
  writePrivateFiles(spec);
  const group = openSweepGroup(spec.cgroupPaths, launchId);
  const pipes = await createOutputPipes(spec);
  const child = spawnPlain(spec, pipes, group.procsFiles, launchId);
  pipes.closeWriteEnds();
  const { stdout, stderr } = pipes.openStreams();
  const exit = Promise.withResolvers<SandboxExit>();
  child.once('exit', (code, signal) => exit.resolve({ code, signal }));
  await started(child, spec);
  const pid = child.pid ?? 0;
  const startTime = readProcess(pid)?.startTime ?? 'gone';
  const mark = `${LAUNCH_MARKER_NAME}=${launchId}`;
  const guard = startPlainGuard({ mark, leader: pid, procsFiles: group.ownProcsFiles });
  const isAlive = (): boolean =>
    isSameProcess(pid, startTime) && child.exitCode === null && child.signalCode === null;

  const target = { leader: { pid, startTime }, launchId, group };
  const others = (): ProcessInfo[] =>
    findSurvivors(target).filter((info) => !isOwnProgram(info, spec.ownPrograms ?? []));
  let isTerminated = false;
  let sweeping: Promise<void> | null = null;
  const kill = (): void => {
    sweeping ??= sweepSurvivors(target);
  };
  if (options.signal?.aborted) kill();
  options.signal?.addEventListener('abort', kill, { once: true });

  const finish = async (): Promise<SandboxExit> => {
    const ending = await exit.promise;
    options.signal?.removeEventListener('abort', kill);
    if (isTerminated) await untilGone(others, () => sweeping !== null);
    await sweeping;
    await sweepSurvivors(target);
    guard.dismiss();
    group.close();
    await pipes.drain([stdout, stderr]);
    return ending;
  };
  return {
    pid,
    startTime,
    ...WITHOUT_NAMESPACE,
    stdin: child.stdin,
    stdout,
    stderr,
    channels: listChannels(spec, child),
    agentPid: () => (isAlive() ? pid : null),
    signalAgent: (signal) => {
      if (!isAlive() || signal === 'SIGINT') return isAlive() && interruptProgram(pid);
      isTerminated = true;
      terminateAll(others);
      return true;
    },
    kill,
    exited: finish(),
  };
}

function spawnPlain(
  spec: SandboxSpec,
  pipes: OutputPipes,
  procsFiles: readonly string[],
  launchId: string,
): ChildProcess {
  const extraFds = spec.extraFds ?? [];
  const [file = '', ...args] = enterCgroups(procsFiles, spec.argv);
  return spawn(file, args, {
    cwd: placeOutside(spec, spec.cwd),
    detached: true,
    env: { ...spec.env, [LAUNCH_MARKER_NAME]: launchId },
    stdio: [
      spec.stdin === 'pipe' ? 'pipe' : 'ignore',
      pipes.stdoutFd,
      pipes.stderrFd,
      ...extraFds,
      ...coverInheritedFds(3 + extraFds.length),
    ],
  });
}

/**
 * HOME is a real, private folder of the caller here; files for other places would be written to the user's own folders
 * and are refused (S4).
 */
function writePrivateFiles({ home, files }: SandboxSpec): void {
  for (const file of files) {
    if (leavesFolder(relative(home.path, file.path)))
      throw new SandboxSpecError(
        `Without a sandbox ${file.path} cannot be written: it is not under ${home.path}.`,
      );
    mkdirSync(dirname(file.path), { recursive: true, mode: 0o700 });
    writeFileSync(file.path, file.content, { mode: file.mode });
  }
}

/** Nothing is mounted here: a path inside the workspace is found where the workspace really is. */
function placeOutside(spec: SandboxSpec, path: string): string {
  if (spec.workspace === null) return path;
  const inside = relative(spec.workspace.target, path);
  return leavesFolder(inside) ? path : join(spec.workspace.source, inside);
}

function started(child: ChildProcess, spec: SandboxSpec): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', (cause) => {
      reject(
        new SandboxStartError(`The program ${spec.argv[0]} could not be started: ${cause.message}`, {
          cause,
        }),
      );
    });
  });
}
