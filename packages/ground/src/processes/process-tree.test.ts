import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import {
  childPids,
  descendants,
  findByMarker,
  isSameProcess,
  readProcess,
  readTree,
  treeCpuMs,
  treeMemoryBytes,
} from './process-tree.ts';
import { describeWait } from './process-wait.ts';

describe('a process', () => {
  const started: ChildProcess[] = [];
  afterEach(async () => {
    for (const child of started.splice(0)) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  });

  function start(
    argv: [string, ...string[]],
    stdin: 'pipe' | 'ignore' = 'ignore',
    env: NodeJS.ProcessEnv = {},
  ): ChildProcess {
    const child = spawn(argv[0], argv.slice(1), {
      stdio: [stdin, 'pipe', 'inherit'],
      env: { PATH: '/usr/bin:/bin', ...env },
    });
    started.push(child);
    return child;
  }

  it('is read with its parent, its start time and its name, brackets included', async () => {
    const child = start(['perl', '-e', '$| = 1; $0 = "a) b ("; print "x"; sleep 60']);
    await once(child.stdout!, 'data');
    await expect.poll(() => readProcess(child.pid!)?.state).toBe('S'); // it may not have fallen asleep yet
    expect(readProcess(child.pid!)).toEqual({
      pid: child.pid,
      ppid: process.pid,
      group: readProcess(process.pid)?.group,
      startTime: expect.stringMatching(/^\d+$/),
      state: 'S',
      comm: 'a) b (',
      cpuMs: expect.any(Number),
      endedChildrenCpuMs: 0,
    });
  });

  it('is the same only with its start time, and never once it is dead', async () => {
    const child = start(['sleep', '60']);
    await once(child, 'spawn');
    const { startTime } = readProcess(child.pid!)!;
    expect(isSameProcess(child.pid!, startTime)).toBe(true);
    expect(isSameProcess(child.pid!, `${startTime}0`)).toBe(false);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(isSameProcess(child.pid!, startTime)).toBe(false);
    expect(readProcess(child.pid!)).toBeNull();
  });

  it('has its descendants found across generations, and their CPU time and memory added', async () => {
    const child = start([
      'perl',
      '-e',
      '$| = 1; if (!fork) { if (!fork) { my $x; $x += $_ for 1..3_000_000; print "x"; sleep 60 } sleep 60 } sleep 60',
    ]);
    await once(child.stdout!, 'data');
    const found = descendants(child.pid!);
    expect(found.map((info) => info.comm)).toEqual(['perl', 'perl']);
    expect(childPids(child.pid!)).toEqual([found[0]!.pid]);
    expect(treeCpuMs(readTree(child.pid!))).toBeGreaterThanOrEqual(found[1]!.cpuMs);
    expect(found[1]!.cpuMs).toBeGreaterThan(0);
    const memory = treeMemoryBytes(readTree(child.pid!));
    expect(memory).toBeGreaterThan(treeMemoryBytes(readTree(found[0]!.pid)));
    expect(treeMemoryBytes(readTree(found[0]!.pid))).toBeGreaterThan(
      treeMemoryBytes(readTree(found[1]!.pid)),
    );
    expect(treeMemoryBytes(readTree(found[1]!.pid))).toBeGreaterThan(100_000);
    for (const info of found) process.kill(info.pid, 'SIGKILL');
  });

  it('has the CPU time of children that ended counted, as of a loop of short commands', async () => {
    const child = start([
      'perl',
      '-e',
      '$| = 1; if (!fork) { my $x; $x += $_ for 1..20_000_000; exit } wait; print "x"; sleep 60',
    ]);
    await once(child.stdout!, 'data');
    expect(descendants(child.pid!)).toEqual([]);
    expect(treeCpuMs(readTree(child.pid!))).toBeGreaterThanOrEqual(50);
    expect(readProcess(child.pid!)!.cpuMs).toBeLessThan(treeCpuMs(readTree(child.pid!)));
  });

  it('is found by a marker in its environment, the whole of it', async () => {
    const value = `marker-${process.pid}`;
    const child = start(['sleep', '60'], 'ignore', { MY_MARKER: value });
    await once(child, 'spawn');
    expect(findByMarker('MY_MARKER', value).map((info) => info.pid)).toEqual([child.pid]);
    expect(findByMarker('MY_MARKER', value.slice(0, -1))).toEqual([]);
  });

  it('that reads an open pipe is blocked on stdin', async () => {
    const child = start(['perl', '-e', '$| = 1; print "x"; <STDIN>'], 'pipe');
    await once(child.stdout!, 'data');
    const wait = await until(
      () => describeWait(child.pid!),
      (each) => each.blockedOnStdin,
    );
    expect(wait).toMatchObject({ syscall: 'read', fd0: 'socket', blockedOnStdin: true });
  });

  it('that sleeps with stdin closed off is not', async () => {
    const child = start(['sleep', '60']);
    const wait = await until(
      () => describeWait(child.pid!),
      (each) => each.syscall === 'clock_nanosleep',
    );
    expect(wait).toMatchObject({ syscall: 'clock_nanosleep', fd0: 'null', blockedOnStdin: false });
  });

  it('that is gone waits for nothing', async () => {
    const child = start(['true']);
    await once(child, 'exit');
    expect(describeWait(child.pid!)).toEqual({
      syscall: null,
      wchan: null,
      fd0: 'closed',
      blockedOnStdin: false,
    });
  });
});

/** A process needs a moment to reach its blocking call: look until it has. */
async function until<T>(look: () => T, isThere: (seen: T) => boolean): Promise<T> {
  for (;;) {
    const seen = look();
    if (isThere(seen)) return seen;
    await new Promise((resolve) => setImmediate(resolve));
  }
}
