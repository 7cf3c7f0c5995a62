import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, existsSync, mkdirSync, mkdtempSync, readlinkSync, rmSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { childPids, readProcFile } from '../processes/index.ts';
import { launchHelper, type LaunchHelper } from './launch-helper.ts';
import { startPerlHelper } from './perl-helper.ts';
import { startShellHelper } from './shell-helper.ts';

const nameModule = (file: string): string => new URL(file, import.meta.url).href;

/** Runs a program that has the functions of a module; it gets the words as its arguments. */
function runProgram(file: string, program: string, ...words: string[]): NodeJS.Signals | number | null {
  return runNode([], file, program, words);
}

function runNode(
  before: readonly string[],
  file: string,
  program: string,
  words: readonly string[],
): NodeJS.Signals | number | null {
  const source = `import * as own from '${nameModule(file)}';
    import { childPids } from '${nameModule('../processes/index.ts')}'; ${program}`;
  const node = [process.execPath, '--input-type=module', '-e', source, ...words];
  const [command = '', ...args] = [...before, ...node];
  const { signal, status } = spawnSync(command, args, { stdio: 'inherit' });
  return signal ?? status;
}

/** Before the words of a command: its Perl is another program, which ends at once. */
const WITH_BROKEN_PERL = [
  'unshare',
  process.getuid?.() === 0 ? '-m' : '-rm',
  ...['sh', '-ec'],
  'for perl in /usr/bin/perl /bin/perl /usr/local/bin/perl; do [ ! -e $perl ] || mount --bind /bin/true $perl; done; exec "$@"',
  'sh',
];

function startMarked(mark: string): ChildProcess {
  const [name = '', value = ''] = mark.split('=');
  const child = spawn('sleep', ['300'], { env: { A: '1', [name]: value, Z: '2' }, stdio: 'ignore' });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

interface Kind {
  readonly file: string;
  readonly start: string;
  readonly open: () => LaunchHelper | null;
  /** Where the descriptor of a pipe leads. */
  readonly pipe: RegExp;
}

const KINDS: readonly (readonly [string, Kind])[] = [
  ['Perl', { file: 'perl-helper.ts', start: 'startPerlHelper', open: startPerlHelper, pipe: /^pipe:/ }],
  [
    'shell',
    { file: 'shell-helper.ts', start: 'startShellHelper', open: startShellHelper, pipe: / \(deleted\)$/ },
  ],
];

describe.each(KINDS)('the launch helper as a %s', (_kind, { file, start, open, pipe }) => {
  it('kills what has the mark of an open launch when its process was killed, and nothing else', async () => {
    const [left, done, other] = ['LEFT', 'DONE', 'LEFT'].map((name) => `CAISSON_${name}=${randomUUID()}`);
    const children = [left, done, `${left ?? ''}x`, other].map((mark) => startMarked(mark ?? ''));
    await Promise.all(children.map((child) => once(child, 'spawn')));
    const first = children[0]?.pid ?? 0;
    await vi.waitFor(() => expect(readProcFile(`/proc/${first}/environ`)).toContain(left));
    const program = `const [left, done] = process.argv.slice(1);
      const helper = own.${start}();
      const isOver = helper.launching(done);
      helper.launching(left);
      isOver();
      process.kill(process.pid, 'SIGKILL');`;
    expect(runProgram(file, program, left ?? '', done ?? '')).toBe('SIGKILL');
    await vi.waitFor(() => expect(children[0]?.signalCode).toBe('SIGKILL'));
    expect(children.slice(2).map((child) => child.signalCode)).toEqual([null, null]);
  });

  it('kills nothing when no launch is open, and keeps no process alive', async () => {
    const mark = `CAISSON_DONE=${randomUUID()}`;
    const child = startMarked(mark);
    await once(child, 'spawn');
    const program = `own.${start}().launching(process.argv[1])();`;
    expect(runProgram(file, program, mark)).toBe(0);
    expect(child.signalCode).toBeNull();
  });

  it('makes pipes without a name, which end with their last writer', async () => {
    const helper = open();
    if (helper === null) throw new Error('there is no Perl');
    // More than are made at once.
    const made = await Promise.all(Array.from({ length: 6 }, () => helper.makePipes()));
    const inodes = made.flatMap(({ readFds, writeFds }, index) => {
      const names = [...readFds, ...writeFds].map((fd) => readlinkSync(`/proc/self/fd/${fd}`));
      for (const name of names) expect(name).toMatch(pipe);
      expect(names.slice(0, 2)).toEqual(names.slice(2));
      for (const fd of writeFds) writeSync(fd, `${index}`);
      for (const fd of writeFds) closeSync(fd);
      return names.slice(0, 2);
    });
    expect(new Set(inodes).size).toBe(12);
    const read = made.map(({ readFds }) => readFds.map((fd) => text(new Socket({ fd, writable: false }))));
    expect(await Promise.all(read.flat())).toEqual([...'001122334455']);
  });

  it('says that nothing was done in the namespaces of a process that is gone', async () => {
    const entered = (await open()?.enter(2 ** 22 + 1, null)) ?? null;
    expect(entered).toEqual({ limitsInotify: false, isMounted: true });
    const mounts = { hasLayers: true, words: [0, 0] };
    expect((await open()?.enter(2 ** 22 + 1, mounts))?.isMounted).toBe(false);
  });
});

it('a helper that was killed is replaced, and what was asked of it is reported as not done', async () => {
  const before = new Set(childPids(process.pid));
  const first = launchHelper();
  for (const fd of Object.values(await first.makePipes()).flat()) closeSync(fd);
  for (const pid of childPids(process.pid)) if (!before.has(pid)) process.kill(pid, 'SIGKILL');
  expect(await first.enter(process.pid, { hasLayers: true, words: [0, 0] })).toEqual({
    limitsInotify: false,
    isMounted: false,
  });
  await expect.poll(() => first.standing()).toBe('killed'); // its end comes a moment after its pipe's
  expect(launchHelper()).not.toBe(first);
  for (const fd of Object.values(await first.makePipes()).flat()) closeSync(fd);
});

it('a launch is guarded by the helper that replaces the one that was killed meanwhile', async () => {
  const mark = `CAISSON_LEFT=${randomUUID()}`;
  const child = startMarked(mark);
  await once(child, 'spawn');
  const program = `own.guardLaunch(process.argv[1]);
    const first = own.launchHelper();
    await first.makePipes();
    for (const pid of childPids(process.pid)) process.kill(pid, 'SIGKILL');
    await first.enter(process.pid, null);
    own.launchHelper();
    process.kill(process.pid, 'SIGKILL');`;
  expect(runProgram('launch-helper.ts', program, mark)).toBe('SIGKILL');
  await vi.waitFor(() => expect(child.signalCode).toBe('SIGKILL'));
});

it('after a Perl that ends at once a shell does all, and no other Perl is started', async () => {
  const mark = `CAISSON_LEFT=${randomUUID()}`;
  const child = startMarked(mark);
  await once(child, 'spawn');
  const program = `own.guardLaunch(process.argv[1]);
    for (let n = 0; n < 4; n += 1) await own.launchHelper().makePipes();
    const helper = own.launchHelper();
    if (helper.standing() !== 'up' || childPids(process.pid).length > 2) process.exit(9);
    process.kill(process.pid, 'SIGKILL');`;
  expect(runNode(WITH_BROKEN_PERL, 'launch-helper.ts', program, [mark])).toBe('SIGKILL');
  await vi.waitFor(() => expect(child.signalCode).toBe('SIGKILL'));
});

it('the shell removes every folder that was in use when its process ended, and no other', async () => {
  const base = mkdtempSync(join(tmpdir(), 'caisson-guard-'));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const [left = '', done = '', open = ''] = ['left over', 'done', 'open'].map((name) => join(base, name));
  for (const folder of [left, done, open]) mkdirSync(folder);
  const program = `const [left, done, open] = process.argv.slice(1);
    const guard = own.startShellGuard();
    guard.using(left);
    guard.using(done)();
    guard.using(open);
    process.kill(process.pid, 'SIGKILL');`;
  expect(runProgram('shell-helper.ts', program, left, done, open)).toBe('SIGKILL');
  await vi.waitFor(() => expect([left, open].map((path) => existsSync(path))).toEqual([false, false]));
  expect(existsSync(done)).toBe(true);
});
