/** Bytes that take space on the disk and that no folder shows: the cap holds for them, too. */
import {
  findHiding,
  removeTree,
  launchSandbox,
  measureUnlinked,
  watchGrowth,
  type SandboxProcess,
} from '@caisson/ground';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createCell, type Cell } from './run-inside.ts';

const MB = 2 ** 20;
const CAP = 8 * MB;

/** Never more is to be seen at a time than the cap allows. */
const FILL = `
import ctypes, os, socket, sys, threading, time
def fill(name, size=24):
    f = os.open(name, os.O_RDWR | os.O_CREAT)
    for _ in range(size): os.write(f, b'x' * (1 << 20))
    os.fsync(f)
    return f
def hide(put_away):
    for _ in range(6):
        f = fill('big', 4); os.unlink('big'); put_away(f); os.close(f)
    done()
def done():
    print('done', flush=True)
    time.sleep(600)
`;

const IN_FLIGHT = `
a, b = socket.socketpair()
hide(lambda f: socket.send_fds(a, [b'x'], [f]))
`;

const NOT_ACCEPTED = `
s = socket.socket(socket.AF_UNIX); s.bind('/tmp/s'); s.listen()
def send(f):
    c = socket.socket(socket.AF_UNIX); c.connect('/tmp/s')
    socket.send_fds(c, [b'x'], [f]); c.close()
hide(send)
`;

const MAPPED = `
libc = ctypes.CDLL(None); libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
hide(lambda f: libc.mmap(None, 4096, 1, 1, f, 0))
`;

const DEEP = `
for _ in range(30):
    os.mkdir('d' * 200); os.chdir('d' * 200)
fill('big')
done()
`;

const OPEN = `hide(os.dup)`;

describe('a workspace that grows unseen', { timeout: 60_000 }, () => {
  let cell: Cell;
  let running: SandboxProcess | null = null;
  beforeEach(() => {
    cell = createCell();
  });
  afterEach(async () => {
    running?.kill();
    await running?.exited;
    running = null;
    await removeTree(cell.root);
  });

  async function watchProgram(program: string, others: readonly number[] = []): Promise<string> {
    const exceeded = Promise.withResolvers<string>();
    const pid = (): number => running?.initPid ?? 0;
    const watch = await watchGrowth({
      path: cell.workspace,
      maxGrowthBytes: CAP,
      pollMs: 20,
      unseenBytes: () => (running === null ? 0 : measureUnlinked(pid(), cell.workspace)),
      findHiding: () => (running === null ? null : findHiding(pid(), cell.workspace, others)),
      onExceeded: (_growth, why) => exceeded.resolve(why ?? 'measured'),
    });
    running = await launchSandbox({ ...cell.spec, argv: ['python3', '-c', FILL + program], stdin: 'pipe' });
    try {
      return await exceeded.promise;
    } finally {
      await watch.stop();
    }
  }

  it.each([
    ['in files at paths that are too long to be named', DEEP, 'folders that cannot be read'],
    ['in a removed file that is only mapped', MAPPED, 'a removed file that is mapped'],
    ['in a removed file whose descriptor waits in a socket', IN_FLIGHT, 'descriptors that wait in a socket'],
    ['in a removed file that waits with a connection', NOT_ACCEPTED, 'descriptors that wait in a socket'],
    ['in a removed file that is open', OPEN, 'measured'],
  ])('is found out %s', async (_where, program, why) => {
    expect(await watchProgram(program)).toContain(why);
  });

  it('is found out in the queue of a socket of ours, which the program was given as its input', async () => {
    const program = `
s = socket.socket(fileno=0)
hide(lambda f: socket.send_fds(s, [b'x'], [f]))
`;
    expect(await watchProgram(program, [process.pid])).toContain('descriptors that wait in a socket');
  });

  it('is not blamed for what others write to the same disk', async () => {
    const asked = Promise.withResolvers<void>();
    let exceeded: number | null = null;
    running = await launchSandbox({
      ...cell.spec,
      argv: ['python3', '-c', `${FILL}done()`],
    });
    const pid = running.initPid ?? 0;
    const watch = await watchGrowth({
      path: cell.workspace,
      maxGrowthBytes: CAP,
      pollMs: 20,
      unseenBytes: () => measureUnlinked(pid, cell.workspace),
      findHiding: () => {
        asked.resolve();
        return findHiding(pid, cell.workspace);
      },
      onExceeded: (growth) => (exceeded = growth),
    });
    mkdirSync(join(cell.root, 'outside'));
    writeFileSync(join(cell.root, 'outside/big'), Buffer.alloc(48 * MB, 1), { flush: true });
    await asked.promise;
    await watch.stop();
    expect(exceeded).toBe(null);
  });
});
