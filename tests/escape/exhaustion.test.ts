import { existsSync, readFileSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createCgroup, launchSandbox, watchGrowth, type Cgroup, type CgroupLimits } from '@caisson/ground';
import { collect, createCell, removeCell, runPerl, runShell, type Cell } from './run-inside.ts';

const MB = 2 ** 20;
let count = 0;

describe('using things up from inside the sandbox', () => {
  let cell: Cell;
  const groups: Cgroup[] = [];
  beforeEach(() => {
    cell = createCell();
  });
  afterEach(async () => {
    for (const group of groups.splice(0)) await group.remove();
    removeCell(cell);
  });

  function limit(limits: CgroupLimits): Cgroup {
    const group = createCgroup({ name: `escape-${process.pid}.${(count += 1)}`, limits });
    groups.push(group);
    return group;
  }

  it('a fork bomb stops at the process limit, and the limit is seen to have been hit', async () => {
    const group = limit({ pids: 32 });
    if (!group.enforced.pids) return expect(group.why).toBeTruthy();
    const bomb =
      'my $n = 0; while (1) { my $p = fork; last if !defined $p; if (!$p) { sleep 30; exit } $n++; last if $n > 500 } print $n';
    const running = await launchSandbox({
      ...cell.spec,
      argv: ['perl', '-e', bomb],
      cgroupPaths: group.procsFiles,
    });
    const forked = new Promise<number>((resolve) =>
      running.stdout.once('data', (chunk: Buffer) => resolve(Number(chunk))),
    );
    expect(await forked).toBeLessThan(32);
    running.kill();
    await running.exited;
    expect(group.events().pidsMax).toBeGreaterThan(0);
    expect(group.pids()).toEqual([]);
  });

  it('a fork bomb that never stops is gone when the sandbox has been killed', async () => {
    const group = limit({ pids: 64 });
    if (!group.enforced.pids) return expect(group.why).toBeTruthy();
    const running = await launchSandbox({
      ...cell.spec,
      argv: ['perl', '-e', '$| = 1; print "x"; while (1) { fork }'],
      cgroupPaths: group.procsFiles,
    });
    await new Promise((resolve) => running.stdout.once('data', resolve));
    running.kill();
    await running.exited;
    expect(group.pids()).toEqual([]);
  });

  it('a memory bomb is killed by its own limit, and the kill is visible', async () => {
    const group = limit({ memory: 64 * MB });
    if (!group.enforced.memory) return expect(group.why).toBeTruthy();
    const { code, stdout } = await runPerl(
      cell,
      'my @a; push @a, "x" x 1_000_000 for 1..500; print "survived"',
      { cgroupPaths: group.procsFiles },
    );
    expect({ code, stdout }).toEqual({ code: 137, stdout: '' });
    expect(group.events().oomKills).toBeGreaterThan(0);
  });

  it.each(['$HOME', '$TMPDIR', '/var/tmp', '/dev/shm'])('%s is full at its cap', async (place) => {
    const { stdout, stderr } = await runShell(
      cell,
      `dd if=/dev/zero of=${place}/fill bs=64k count=64 2>&1 | grep -o "No space left"; wc -c < ${place}/fill`,
    );
    expect({ stdout, stderr }).toEqual({ stdout: `No space left\n${MB}\n`, stderr: '' });
  });

  it('replaced folders take no more than a page, and nothing of it reaches the host', async () => {
    const { stdout } = await runShell(
      cell,
      'for d in / /run /root /home /dev /dev/pts /proc; do ( head -c 5000 /dev/zero > $d/caisson-fill ) 2>/dev/null && echo $d; done; cat /run/caisson-fill | wc -c',
    );
    expect(stdout).toBe('4096\n');
    expect(existsSync('/run/caisson-fill')).toBe(false);
  });

  it('the watch reports a workspace that outgrows its cap', async () => {
    const exceeded = Promise.withResolvers<number>();
    const watch = await watchGrowth({
      path: cell.workspace,
      maxGrowthBytes: 8 * MB,
      pollMs: 20,
      onExceeded: exceeded.resolve,
    });
    const running = await launchSandbox({
      ...cell.spec,
      argv: ['/bin/sh', '-c', 'dd if=/dev/zero of=big bs=1M count=24 2>/dev/null; sleep 60'],
    });
    expect(await exceeded.promise).toBeGreaterThan(8 * MB);
    running.kill();
    await running.exited;
    await watch.stop();
    expect(statfsSync(join(cell.workspace)).bavail).toBeGreaterThan(0);
  });

  it('inotify instances and watches run out inside long before the user of the machine has none left', async () => {
    const program = `
import ctypes
libc = ctypes.CDLL(None)
instances = []
while len(instances) < 500:
    f = libc.inotify_init1(0)
    if f < 0: break
    instances.append(f)
print(len(instances), open('/proc/sys/user/max_inotify_instances').read().strip())
print(open('/proc/sys/user/max_inotify_watches').read().strip())
try: open('/proc/sys/user/max_inotify_instances', 'w').write('1000')
except OSError: print('fixed')
`;
    const running = await launchSandbox({ ...cell.spec, argv: ['python3', '-c', program] });
    const { stdout } = await collect(running);
    expect(running.limitsInotify).toBe(true);
    const most = (name: string): number => Number(readFileSync(`/proc/sys/fs/inotify/${name}`, 'utf8'));
    const instances = Math.max(16, Math.floor(most('max_user_instances') / 4));
    const watches = Math.max(2048, Math.floor(most('max_user_watches') / 4));
    expect(stdout).toBe(`${instances} ${instances}\n${watches}\nfixed\n`);
  });

  it('running out of descriptors affects only the program that does it', async () => {
    const running = await launchSandbox({
      ...cell.spec,
      argv: [
        'perl',
        '-e',
        'my @f; while (@f < 2_000_000 && open(my $f, "<", "/dev/null")) { push @f, $f } print $!{EMFILE} ? "limit" : $!',
      ],
    });
    const { stdout } = await collect(running);
    expect(stdout).toBe('limit');
    expect((await runShell(cell, 'echo well')).stdout).toBe('well\n');
  });
});
