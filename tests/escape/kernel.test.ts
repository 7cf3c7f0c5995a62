import { copyFileSync, chmodSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SECCOMP_ARCHITECTURES } from '../../packages/ground/src/sandbox/seccomp-syscalls.ts';
import { createCell, removeCell, runPerl, runShell, type Cell } from './run-inside.ts';

const table = SECCOMP_ARCHITECTURES[process.arch];

describe('the kernel from inside the sandbox', () => {
  let cell: Cell;
  beforeAll(() => {
    cell = createCell();
  });
  afterAll(() => removeCell(cell));

  /** Makes the calls one after the other and prints the error number of each, 0 for success. */
  async function tryCalls(calls: readonly (readonly number[])[]): Promise<number[]> {
    const list = calls.map((call) => `[${call.join(',')}]`).join(',');
    const program = `for my $call (${list}) { $! = 0; my $r = syscall($call->[0], map { $_ + 0 } @$call[1..$#$call]); print $r == -1 ? $!+0 : 0, "\\n"; }`;
    const { stdout } = await runPerl(cell, program);
    return stdout.trim().split('\n').map(Number);
  }

  it.each(Object.entries(table?.denied ?? {}))('%s is refused', async (_name, number) => {
    // Arguments that make every one of these calls harmless even where the filter let it through.
    expect(await tryCalls([[number, 0, 0, 0, 0, 0]])).toEqual([1]);
  });

  it('new namespaces are refused by unshare and clone, and clone3 does not exist', async () => {
    const special = table!.special;
    const flags = [0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000];
    expect(await tryCalls(flags.map((flag) => [special.unshare, flag]))).toEqual(flags.map(() => 1));
    expect(await tryCalls([[special.unshare, 0x80]])).toEqual([1]);
    expect(await tryCalls(flags.map((flag) => [special.clone, flag + 17, 0, 0, 0, 0]))).toEqual(
      flags.map(() => 1),
    );
    expect(await tryCalls([[special.clone3, 0, 0]])).toEqual([38]);
  });

  it('threads, ordinary forks and a private file table still work', async () => {
    const { stdout, code } = await runShell(
      cell,
      "perl -e 'my $p = fork; exit 0 if !$p; waitpid $p, 0; print syscall(" +
        table!.special.unshare +
        ', 0x400), "\\n"\'',
    );
    expect({ stdout, code }).toEqual({ stdout: '0\n', code: 0 });
  });

  it('the devices of the host work, and keep their mode', async () => {
    // What they have already: harmless where the boundary is missing.
    const attempts = ['null', 'zero', 'full', 'random', 'urandom', 'tty']
      .map((name) => `/dev/${name}`)
      .map((path) => `chmod "$(stat -c %a ${path})" ${path} 2>&1`);
    const { stdout } = await runShell(
      cell,
      `${attempts.join('; ')}; echo x > /dev/null && head -c 3 /dev/zero | wc -c; head -c 2 /dev/urandom | wc -c`,
    );
    const lines = stdout.trim().split('\n');
    expect(lines.slice(0, -2).join('\n')).toMatch(/^(.*(Read-only file system|not permitted).*\n?){6}$/);
    expect(lines.slice(-2)).toEqual(['3', '2']);
  });

  it('a terminal cannot be fed from inside', async () => {
    const { ioctl } = table!.special;
    expect(
      await tryCalls([
        [ioctl, 0, 0x5412, 0],
        [ioctl, 0, 0x541c, 0],
      ]),
    ).toEqual([1, 1]);
  });

  it('socket families that no network namespace holds do not exist', async () => {
    const { socket } = table!.special;
    const vsock = 40;
    const packet = 17;
    const crypto = 38;
    expect(
      await tryCalls([
        [socket, vsock, 1, 0],
        [socket, packet, 3, 0],
        [socket, crypto, 5, 0],
        [socket, 1, 1, 0],
        [socket, 2, 1, 0],
      ]),
    ).toEqual([97, 97, 97, 0, 0]);
  });

  it('the personality can be read and not changed', async () => {
    const { personality } = table!.special;
    expect(
      await tryCalls([
        [personality, 0xffffffff],
        [personality, 0x40000],
        [personality, 0x20000],
      ]),
    ).toEqual([0, 1, 1]);
  });

  it('there are no capabilities, no new privileges, and a filter is loaded', async () => {
    const { stdout } = await runShell(
      cell,
      'grep -E "^(Cap|NoNewPrivs|Seccomp:)" /proc/self/status | tr -d "\\t"',
    );
    expect(stdout.trim().split('\n')).toEqual([
      'CapInh:0000000000000000',
      'CapPrm:0000000000000000',
      'CapEff:0000000000000000',
      'CapBnd:0000000000000000',
      'CapAmb:0000000000000000',
      'NoNewPrivs:1',
      'Seccomp:2',
    ]);
  });

  it('a setuid program gives no process a new uid', async () => {
    copyFileSync('/usr/bin/id', join(cell.workspace, 'id'));
    chmodSync(join(cell.workspace, 'id'), 0o4755);
    const { stdout } = await runShell(cell, './id -u; perl -e \'$> = 0; $< = 0; print "$> $<\\n"\'');
    expect(stdout).toBe('1000\n1000 1000\n');
  });

  it('no device can be made and none of the host is there', async () => {
    const { stdout } = await runShell(
      cell,
      'mknod disk b 8 0 2>/dev/null && echo made; mknod mem c 1 1 2>/dev/null && echo made; ls /dev | tr "\\n" " "',
    );
    expect(stdout.trim().split(' ').sort()).toEqual([
      'core',
      'fd',
      'full',
      'null',
      'ptmx',
      'pts',
      'random',
      'shm',
      'stderr',
      'stdin',
      'stdout',
      'tty',
      'urandom',
      'zero',
    ]);
  });

  it('processes inside cannot be traced and those outside not be signalled', async () => {
    const { stdout } = await runShell(
      cell,
      `sleep 5 & p=$!; (head -c1 /proc/$p/mem) >/dev/null 2>&1 && echo mem; kill -0 ${process.pid} 2>/dev/null && echo outside; kill $p; true`,
    );
    expect(stdout).toBe('');
  });

  it('the memory of the first process, which could then outlive its parent, cannot be opened', async () => {
    const program = `for my $path (glob('/proc/1/mem /proc/1/task/*/mem /proc/1/task/1/mem')) { print "$path\n" if open(my $f, '+<', $path) }`;
    const { stdout, stderr } = await runPerl(cell, program);
    expect([stdout, stderr]).toEqual(['', '']);
  });

  it('a program of another instruction set mode is killed', async () => {
    if (table!.hasX32) {
      const { code } = await runPerl(cell, 'syscall(0x40000000 + 39); print "alive\\n"');
      expect(code).toBe(128 + 31);
    } else {
      expect(table!.auditArchitecture).toBe(0xc00000b7);
    }
  });
});
