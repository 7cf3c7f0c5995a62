import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  createCgroup,
  findByMarker,
  launchSandbox,
  MARKER_NAME,
  type Cgroup,
  type SandboxProcess,
  type SandboxSpec,
} from '@caisson/ground';
import { createCell, removeCell, type Cell } from './run-inside.ts';
import { PROCESS_TREES, type ProcessTree } from './process-trees.ts';

describe.each(['bwrap', 'none'] as const)('killing a tree with the sandbox %s', (kind) => {
  let cell: Cell;
  let group: Cgroup;
  let marker: string;
  beforeEach(() => {
    cell = createCell();
    marker = randomUUID();
    group = createCgroup({ name: `survivors-${marker}`, limits: {} });
  });
  afterEach(async () => {
    await group.remove();
    removeCell(cell);
  });

  function start(tree: ProcessTree, overrides: Partial<SandboxSpec> = {}): Promise<SandboxProcess> {
    const env = { ...cell.spec.env, [MARKER_NAME]: marker };
    return launchSandbox({
      ...cell.spec,
      kind,
      env,
      argv: ['perl', '-e', tree.program],
      cgroupPaths: group.procsFiles,
      ...overrides,
    });
  }

  it.each(PROCESS_TREES)('leaves no process of a tree that $name', async (tree) => {
    const running = await start(tree);
    await announced(running, tree.size);
    expect(group.pids().length).toBeGreaterThanOrEqual(tree.size);
    running.kill();
    await running.exited;
    expect(group.pids()).toEqual([]);
    expect(findByMarker(MARKER_NAME, marker)).toEqual([]);
  });

  it('leaves no process behind when the program ends by itself while its daemon runs', async () => {
    const running = await start({
      name: 'ends',
      size: 1,
      program:
        'use POSIX; pipe(R, W); if (!fork) { POSIX::setsid(); if (!fork) { syswrite(STDOUT, "up\\n"); syswrite(W, "x"); sleep 1000 } exit } sysread(R, my $x, 1); exit 7',
    });
    await announced(running, 1);
    expect(await running.exited).toMatchObject({ code: 7 });
    expect(group.pids()).toEqual([]);
  });

  it('finds the program itself and hands it a signal', async () => {
    const running = await start({
      name: 'trap',
      size: 1,
      program: '$SIG{TERM} = sub { exit 42 }; $| = 1; syswrite(STDOUT, "up\\n"); sleep 1000',
    });
    await announced(running, 1);
    expect(running.agentPid()).not.toBeNull();
    expect(running.signalAgent('SIGTERM')).toBe(true);
    expect(await running.exited).toEqual({ code: 42, signal: null });
    expect(running.signalAgent('SIGTERM')).toBe(false);
    expect(running.agentPid()).toBeNull();
  });

  it('an abort kills it', async () => {
    const aborter = new AbortController();
    const running = await launchSandbox(
      { ...cell.spec, kind, argv: ['sleep', '1000'], cgroupPaths: group.procsFiles },
      { signal: aborter.signal },
    );
    aborter.abort();
    await running.exited;
    expect(group.pids()).toEqual([]);
  });
});

describe('killing one of two plain launches of the same attempt', () => {
  it('leaves the other alone', async () => {
    const cell = createCell({ kind: 'none' });
    const group = createCgroup({ name: `siblings-${randomUUID()}`, limits: {} });
    const spec: SandboxSpec = { ...cell.spec, argv: ['sleep', '1000'], cgroupPaths: group.procsFiles };
    const [first, second] = await Promise.all([launchSandbox(spec), launchSandbox(spec)]);
    first.kill();
    await first.exited;
    expect(second.agentPid()).toBe(second.pid);
    second.kill();
    await second.exited;
    await group.remove();
    removeCell(cell);
  });
});

describe('a process that nothing can find any more', () => {
  it('holds stdout open and does not hold the end open', async () => {
    const cell = createCell({ kind: 'none' });
    const program =
      'use POSIX; if (!fork) { POSIX::setsid(); if (!fork) { %ENV = (); exec "/usr/bin/perl", "-e", q{$| = 1; print "$$\\n"; sleep 60} } exit } wait; sleep 60';
    const running = await launchSandbox({ ...cell.spec, argv: ['perl', '-e', program] });
    const lost = await new Promise<number>((resolve) =>
      running.stdout.once('data', (chunk: Buffer) => resolve(Number(chunk))),
    );
    const startedAt = performance.now();
    running.kill();
    await running.exited;
    expect(performance.now() - startedAt).toBeLessThan(2000);
    expect(running.stdout.destroyed).toBe(true);
    process.kill(lost, 'SIGKILL');
    removeCell(cell);
  });
});

/** Resolves when as many processes as expected have said that they run. */
function announced(running: SandboxProcess, size: number): Promise<void> {
  return new Promise((resolve) => {
    let received = 0;
    running.stdout.on('data', (chunk: Buffer) => {
      received += chunk.toString().split('up').length - 1;
      if (received >= size) resolve();
    });
  });
}
