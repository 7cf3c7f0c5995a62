// The one place that starts bubblewrap. Descriptors of the child: 0 to 2, the caller's extra ones, the gate, the status
// report, and then the nameless files with everything bubblewrap has to read.
import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync } from 'node:fs';
import type { Duplex, Readable } from 'node:stream';
import { openAnonymousFile } from './anonymous-file.ts';
import { buildArguments } from './bwrap-arguments.ts';
import { findBwrap } from './bwrap-location.ts';
import { enterCgroups } from './cgroup-entry.ts';
import { MARKER_NAME, type LaunchOptions, type SandboxSpec } from './contract.ts';
import { SandboxUnavailableError } from './errors.ts';
import { coverInheritedFds } from './inherited-fds.ts';
import { listReadOnlyLayers, planLayerMounts, type LayerMounts } from './layer-mounts.ts';
import { planMounts, type Mount } from './mount-plan.ts';
import { createOutputPipes, type OutputPipes } from './output-pipes.ts';
import { rememberPaths } from './real-path.ts';
import { buildSeccompProgram } from './seccomp.ts';
import { takeSystemView } from './system-view.ts';
import { waitAtGate } from './start-gate.ts';

/** bubblewrap on its way, and the two private lines to it. */
export interface SpawnedBwrap {
  readonly child: ChildProcess;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly drain: OutputPipes['drain'];
  readonly gate: Duplex;
  readonly status: Duplex;
  readonly plan: readonly Mount[];
  readonly mounts: LayerMounts | null;
  readonly readOnlyLayers: readonly string[];
}

/** Starts bubblewrap with everything it needs; the program inside waits at the gate. */
export async function spawnBwrap(
  spec: SandboxSpec,
  options: LaunchOptions,
  vanished: ReadonlySet<string>,
): Promise<SpawnedBwrap> {
  const bwrap = options.bwrapPath ?? findBwrap();
  if (bwrap === null) throw bwrapMissing();
  const extraFds = spec.extraFds ?? [];
  const gateFd = 3 + extraFds.length;
  const statusFd = gateFd + 1;
  const attached: number[] = [];
  const attach = (content: string | Buffer | number): number =>
    statusFd + attached.push(typeof content === 'number' ? content : openAnonymousFile(content));
  try {
    const view = takeSystemView();
    const { plan, built } = rememberPaths(() => {
      const plan = planMounts(spec, vanished, view);
      return { plan, built: buildArguments(spec, plan, view, attach) };
    });
    const words = [
      ...['--json-status-fd', String(statusFd)],
      ...(spec.seccomp ? ['--seccomp', String(attach(buildSeccompProgram()))] : []),
      ...built,
    ];
    const argsFd = attach(words.map((word) => `${word}\0`).join(''));
    const command = [bwrap, '--args', String(argsFd), '--', ...waitAtGate(gateFd, spec.argv)];
    const [file = bwrap, ...args] = enterCgroups(spec.cgroupPaths, command);
    const marker = spec.env[MARKER_NAME];
    const own = [...extraFds, 'pipe' as const, 'pipe' as const, ...attached];
    const pipes = await createOutputPipes(spec);
    const child = spawn(file, args, {
      cwd: '/',
      detached: true,
      env: marker === undefined ? {} : { [MARKER_NAME]: marker },
      stdio: [
        spec.stdin === 'pipe' ? 'pipe' : 'ignore',
        pipes.stdoutFd,
        pipes.stderrFd,
        ...own,
        ...coverInheritedFds(3 + own.length),
      ],
    });
    pipes.closeWriteEnds();
    return {
      child,
      ...pipes.openStreams(),
      drain: pipes.drain,
      gate: child.stdio[gateFd] as Duplex,
      status: child.stdio[statusFd] as Duplex,
      plan,
      mounts: planLayerMounts(spec, plan),
      readOnlyLayers: listReadOnlyLayers(plan),
    };
  } finally {
    for (const fd of attached) closeSync(fd);
  }
}

/** The error when there is no bubblewrap on this machine. */
export function bwrapMissing(): SandboxUnavailableError {
  return new SandboxUnavailableError('bubblewrap (bwrap) is not installed, so the sandbox cannot be built.', {
    remedy: 'Install the package `bubblewrap`, or ask for no sandbox by name with `--sandbox none`.',
  });
}
