import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { enterCgroups } from '../sandbox/cgroup-entry.ts';
import { createV1 } from './create-v1.ts';
import { createV2, openV2Group } from './create-v2.ts';
import { countMemoryGroups } from './fixtures/count-memory-groups.ts';
import { emptyMemory, removeGroup } from './group-files.ts';
import { readHierarchies } from './hierarchies.ts';
import { createCgroup, listOwnCgroups, probeCgroups, reopenCgroup, type Cgroup } from './index.ts';

const MB = 2 ** 20;
const GROUPS = 30;
let count = 0;
const nextName = (): string => `test-${process.pid}.${(count += 1)}`;

async function startIn(group: Cgroup, argv: string[]): Promise<number> {
  const [file = '', ...args] = enterCgroups(group.procsFiles, argv);
  const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'inherit'], detached: true });
  await once(child.stdout, 'data');
  return child.pid ?? 0;
}

const TREE = [
  'perl',
  '-e',
  '$| = 1; use POSIX; if (!fork) { POSIX::setsid(); print "x"; sleep 60 } sleep 60',
];

describe('a cgroup of this machine', () => {
  it('says what it enforces, and the doctor says the same', async () => {
    const probe = await probeCgroups();
    const group = createCgroup({ name: nextName(), limits: { memory: 64 * MB, cpus: 0.5, pids: 16 } });
    expect(probe).toMatchObject({ kind: group.kind, ...group.enforced });
    for (const isEnforced of Object.values(group.enforced)) if (!isEnforced) expect(group.why).toBeTruthy();
    await group.remove();
    for (const file of group.procsFiles) expect(existsSync(dirname(file))).toBe(false);
  });

  it('leaves nothing in the kernel: what its members wrote to the disk does not keep it there', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'caisson-cgroup-'));
    const before = countMemoryGroups();
    for (let index = 0; index < GROUPS; index += 1) {
      const group = createCgroup({ name: nextName(), limits: { memory: 64 * MB } });
      const write = `head -c 65536 /dev/zero > ${folder}/${index}; echo x`;
      await startIn(group, ['sh', '-c', write]);
      await group.remove();
    }
    // Other programs of this machine have groups for a while, too; one of ours that stayed would be one more a round.
    await expect.poll(() => countMemoryGroups() - before, { timeout: 10_000 }).toBeLessThan(GROUPS / 2);
    rmSync(folder, { recursive: true });
  });

  it('is found and taken away once it is empty, and not before', async () => {
    const group = createCgroup({ name: nextName(), limits: { memory: 64 * MB } });
    const find = () =>
      listOwnCgroups().find(({ name }) => group.procsFiles.some((path) => path.includes(name)));
    await startIn(group, TREE);
    expect(await find()?.removeIfEmpty()).toBe(false);
    await group.kill();
    expect(find()?.ageMs()).toBeLessThan(60_000);
    expect(await find()?.removeIfEmpty()).toBe(true);
    for (const file of group.procsFiles) expect(existsSync(dirname(file))).toBe(false);
  });

  it('lies in a folder of ours and holds the numbers it was given', async () => {
    const name = nextName();
    const group = createCgroup({ name, limits: { memory: 64 * MB, cpus: 0.5, pids: 16 } });
    const read = (file: string): string | undefined =>
      group.procsFiles
        .map((path) => join(dirname(path), file))
        .filter((path) => existsSync(path))
        .map((path) => readFileSync(path, 'utf8').trim())[0];
    for (const file of group.procsFiles) expect(file).toContain(`/caisson/${name}/`);
    if (group.enforced.pids) expect(read('pids.max')).toBe('16');
    if (group.kind === 'v1' && group.enforced.memory)
      expect(read('memory.limit_in_bytes')).toBe(String(64 * MB));
    if (group.kind === 'v1' && group.enforced.cpus) expect(read('cpu.cfs_quota_us')).toBe('50000');
    await group.remove();
  });

  it('kills everything in it, other sessions included, and is then empty', async () => {
    const group = createCgroup({ name: nextName(), limits: { pids: 64 } });
    if (group.kind === 'none') return expect(group.why).toBeTruthy();
    await startIn(group, TREE);
    expect(group.pids()).toHaveLength(2);
    await group.kill();
    expect(group.pids()).toEqual([]);
    await group.remove();
  });

  it('is removed with what still runs in it, twice without complaint', async () => {
    const group = createCgroup({ name: nextName(), limits: {} });
    await startIn(group, TREE);
    await group.remove();
    await group.remove();
    for (const file of group.procsFiles) expect(existsSync(file)).toBe(false);
    expect(group.events()).toEqual({ oomKills: 0, pidsMax: 0 });
  });

  it('is taken up again by its files alone, and ended with the groups below it', async () => {
    const group = createCgroup({ name: nextName(), limits: {} });
    const [file] = group.procsFiles;
    if (file === undefined) return expect(group.why).toBeTruthy();
    const below = join(dirname(file), 'launch-1');
    mkdirSync(below);
    await startIn({ ...group, procsFiles: [join(below, 'cgroup.procs')] }, TREE);
    const again = reopenCgroup(group.procsFiles);
    expect(again.pids()).toHaveLength(2);
    await again.remove();
    expect(existsSync(file)).toBe(false);
    await again.remove();
  });

  it('cannot be named out of its folder', () => {
    expect(() => createCgroup({ name: '../escape', limits: {} })).toThrow(TypeError);
  });

  it('is made in a moment', async () => {
    const times: number[] = [];
    for (let index = 0; index < 15; index += 1) {
      const startedAt = performance.now();
      const group = createCgroup({ name: nextName(), limits: { memory: 64 * MB, cpus: 1, pids: 16 } });
      times.push(performance.now() - startedAt);
      await group.remove();
    }
    expect(times.sort((a, b) => a - b)[7]).toBeLessThan(5);
  });
});

describe('a v2 group', () => {
  const { v2 } = readHierarchies();

  it('is refused with a reason where no group around us hands on a controller', () => {
    const made = createV2(
      { name: nextName(), limits: { pids: 8 } },
      { mount: '/sys/fs/cgroup/nowhere', ownGroup: '/sys/fs/cgroup/nowhere/own' },
    );
    expect(made).toEqual({ why: expect.stringContaining('can be written and delegates') });
  });

  it('is asked for as much memory as it has before it goes', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'caisson-v2-')); // no kernel has memory groups of both versions
    writeFileSync(join(folder, 'memory.current'), '73728\n');
    writeFileSync(join(folder, 'memory.reclaim'), '');
    await emptyMemory(folder);
    expect(readFileSync(join(folder, 'memory.reclaim'), 'utf8')).toBe('73728');
    rmSync(folder, { recursive: true });
  });

  it('kills its members and goes, also where its hierarchy has no controllers and every limit is refused', async () => {
    if (v2 === null) return expect(readHierarchies().v1).not.toEqual({});
    const folder = join(v2.mount, 'caisson', nextName());
    try {
      mkdirSync(folder, { recursive: true });
    } catch (error) {
      return expect((error as NodeJS.ErrnoException).code).toMatch(/EACCES|EROFS|EPERM/);
    }
    const group = openV2Group(folder, { name: 'unused', limits: { memory: 64 * MB, pids: 16 } });
    if (!group.enforced.memory) expect(group.why).toContain('memory.max');
    await startIn(group, TREE);
    expect(group.pids()).toHaveLength(2);
    await group.kill();
    expect(group.pids()).toEqual([]);
    await group.remove();
    expect(existsSync(folder)).toBe(false);
  });
});

it('missing rights are reported once, with the controllers they concern', () => {
  const mount = '/sys/kernel'; // no user can make a folder there
  const hierarchy = { mount, ownGroup: mount };
  const group = createV1(
    { name: 'denied', limits: { memory: 64 * 2 ** 20, pids: 16 } },
    { v1: { freezer: hierarchy, memory: hierarchy, pids: hierarchy }, v2: null },
  );
  expect(group.kind).toBe('none');
  expect(group.why).toMatch(
    /^no group can be made in \/sys\/kernel\/caisson, nor for memory, pids \([A-Z]+\)$/,
  );
});

it('a kernel that frees memory slowly delays nothing', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-cgroup-'));
  const pipe = join(folder, 'memory.force_empty');
  execFileSync('mkfifo', [pipe]);
  const end = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK);
  writeSync(end, Buffer.alloc(65_536)); // full: the next writer waits
  const startedAt = performance.now();
  expect(await removeGroup(folder)).toBe(false);
  expect(performance.now() - startedAt).toBeLessThan(5_000);
  readSync(end, Buffer.alloc(65_536));
  closeSync(end);
  rmSync(folder, { recursive: true });
});
