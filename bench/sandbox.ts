// How long a program waits for its wall: from the call to the first byte that `echo` writes, one start at a time.
// Ours is complete (namespaces, view of the file system, system call filter, cgroup with three limits). The peers are
// given less work where they differ: srt by its library, initialised once, and firejail without a profile.
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { createCgroup, launchSandbox, type SandboxSpec } from '@caisson/ground';
import { measureInTurns } from './alternate.ts';
import type { BenchRow } from './bench-row.ts';

const ROUNDS = 31;
const MOST_EXTRA_MS = 15;
const NAME = 'sandbox: call to first byte of a program';

type Start = () => Promise<number>;

export async function run(): Promise<BenchRow[]> {
  const root = mkdtempSync(join(tmpdir(), 'caisson-bench-sandbox-'));
  const workspace = join(root, 'workspace');
  mkdirSync(workspace);
  const group = createCgroup({
    name: `bench-${process.pid}`,
    limits: { memory: 2 ** 30, cpus: 2, pids: 256 },
  });
  const srt = await openSrt(workspace);
  try {
    const ms = await measureInTurns(ROUNDS, {
      plain: () => firstByte(() => spawn('/bin/echo', ['x'], { stdio: ['ignore', 'pipe', 'pipe'] })),
      ours: () => launchOurs({ ...strictSpec(workspace), cgroupPaths: group.procsFiles }),
      srt: srt.start,
      firejail: () =>
        firstByte(() =>
          spawn('firejail', ['--quiet', '--noprofile', '--private', '--net=none', '/bin/echo', 'x'], {
            stdio: ['ignore', 'pipe', 'pipe'],
          }),
        ),
    });
    return [
      row(
        'a plain spawn of the same program',
        ms.ours,
        ms.plain,
        `at most ${MOST_EXTRA_MS} ms more`,
        ms.ours - ms.plain <= MOST_EXTRA_MS,
      ),
      row('srt (library)', ms.ours, ms.srt, 'ahead of it', ms.ours < ms.srt),
      row('firejail', ms.ours, ms.firejail, 'ahead of it', ms.ours < ms.firejail),
    ];
  } finally {
    await srt.close();
    await group.remove();
    rmSync(root, { recursive: true, force: true });
  }
}

function row(peer: string, value: number, peerValue: number, target: string, met: boolean): BenchRow {
  return { name: NAME, value, unit: 'ms p50', peer, peerValue, ratio: value / peerValue, target, met };
}

function strictSpec(workspace: string): SandboxSpec {
  return {
    kind: 'bwrap',
    argv: ['/bin/echo', 'x'],
    env: { PATH: '/usr/bin:/bin', HOME: '/home/agent', TMPDIR: '/tmp' },
    cwd: workspace,
    workspace: { source: workspace, target: workspace, readOnly: false },
    binds: [],
    hide: [],
    readOnlyPaths: [],
    home: { path: '/home/agent', maxBytes: 2 ** 26 },
    tmp: { path: '/tmp', maxBytes: 2 ** 26 },
    files: [{ path: '/home/agent/.agent/settings.json', content: '{}', mode: 0o600 }],
    network: 'none',
    seccomp: true,
    cgroupPaths: [],
    stdin: 'closed',
  };
}

async function launchOurs(spec: SandboxSpec): Promise<number> {
  const startedAt = performance.now();
  const running = await launchSandbox(spec);
  running.stderr.resume();
  await new Promise((resolve) => running.stdout.once('data', resolve));
  const ms = performance.now() - startedAt;
  await running.exited;
  return ms;
}

async function firstByte(start: () => ChildProcess | Promise<ChildProcess>): Promise<number> {
  const startedAt = performance.now();
  const child = await start();
  const exited = new Promise((resolve) => child.once('exit', resolve));
  child.stderr?.resume();
  await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.stdout?.once('data', resolve);
  });
  const ms = performance.now() - startedAt;
  await exited;
  return ms;
}

async function openSrt(workspace: string): Promise<{ start: Start; close: () => Promise<void> }> {
  const { SandboxManager } = await import('@anthropic-ai/sandbox-runtime');
  await SandboxManager.initialize({
    network: { allowedDomains: [], deniedDomains: [] },
    filesystem: { denyRead: ['/root', '/home'], allowWrite: [workspace], denyWrite: [] },
  });
  return {
    start: () =>
      firstByte(async () => {
        const command = await SandboxManager.wrapWithSandbox('/bin/echo x');
        return spawn(command, { shell: true, cwd: workspace, stdio: ['ignore', 'pipe', 'pipe'] });
      }),
    close: () => SandboxManager.reset(),
  };
}
