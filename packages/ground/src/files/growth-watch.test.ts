import {
  chmodSync,
  chownSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statfsSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { EventEmitter, once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { watchGrowth } from './growth-watch.ts';
import { measureFolder } from './measure-folder.ts';

const MB = 2 ** 20;
const NOBODY = 65_534;

/** Root may read everything: as another user this process sees what a user sees. */
function becomeOrdinary(...owned: string[]): () => void {
  if (process.getuid?.() !== 0) return () => undefined;
  for (const path of owned) chownSync(path, NOBODY, NOBODY);
  process.seteuid?.(NOBODY);
  return () => process.seteuid?.(0);
}

describe('the size of a folder', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'caisson-growth-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('counts what lies on the disk: hard links once, links not at all', async () => {
    mkdirSync(join(folder, 'a'));
    writeFileSync(join(folder, 'a/one'), Buffer.alloc(MB, 1));
    linkSync(join(folder, 'a/one'), join(folder, 'two'));
    symlinkSync('/usr', join(folder, 'usr'));
    const size = await measureFolder(folder);
    expect(size).toMatchObject({ entries: 4, isPartial: false });
    expect(size.bytes).toBeGreaterThanOrEqual(MB);
    expect(size.bytes).toBeLessThan(1.1 * MB);
  });

  it('is reported once it has grown past the cap, and what was there before does not count', async () => {
    writeFileSync(join(folder, 'before'), Buffer.alloc(8 * MB, 1));
    const exceeded = Promise.withResolvers<number>();
    const watch = await watchGrowth({
      path: folder,
      maxGrowthBytes: 4 * MB,
      pollMs: 10,
      onExceeded: exceeded.resolve,
    });
    expect(watch.growthBytes()).toBe(0);
    writeFileSync(join(folder, 'after'), Buffer.alloc(6 * MB, 1), { flush: true });
    const growth = await exceeded.promise;
    expect(growth).toBeGreaterThan(4 * MB);
    expect(watch.growthBytes()).toBe(growth);
    await watch.stop();
  });

  it('is the growth of the whole disk once something was made unreadable', async () => {
    const hidden = join(folder, 'hidden');
    mkdirSync(hidden);
    const release = becomeOrdinary(folder, hidden);
    try {
      const exceeded = Promise.withResolvers<number>();
      const watch = await watchGrowth({
        path: folder,
        maxGrowthBytes: 4 * MB,
        pollMs: 10,
        onExceeded: exceeded.resolve,
      });
      writeFileSync(join(hidden, 'file'), Buffer.alloc(16 * MB, 1), { flush: true });
      chmodSync(hidden, 0);
      expect((await measureFolder(folder)).unreadable).toBe(1);
      expect(await exceeded.promise).toBeGreaterThan(4 * MB);
      await watch.stop();
    } finally {
      release();
    }
  });

  it.each([
    ['when there are', false],
    ['when there were, if they must be counted,', true],
  ])('is reported %s more files than are counted, whatever they have', async (_when, mustBeCounted) => {
    const exceeded = Promise.withResolvers<string | undefined>();
    const fill = (): void => {
      for (let n = 0; n < 21; n += 1) writeFileSync(join(folder, `${n}`), '');
    };
    if (mustBeCounted) fill();
    const watch = await watchGrowth({
      ...{ path: folder, maxGrowthBytes: 512 * MB, pollMs: 10, maxEntries: 20, mustBeCounted },
      onExceeded: (_growth, why) => exceeded.resolve(why),
    });
    fill();
    expect(await exceeded.promise).toBe('there are more files than can be counted');
    await watch.stop();
  });

  it('is the growth of the whole disk where more files than are counted were there before', async () => {
    for (let n = 0; n < 21; n += 1) writeFileSync(join(folder, `${n}`), '');
    const exceeded = Promise.withResolvers<[growth: number, why?: string]>();
    const watch = await watchGrowth({
      ...{ path: folder, maxGrowthBytes: 4 * MB, pollMs: 10, maxEntries: 20 },
      onExceeded: (growth, why) => exceeded.resolve(why === undefined ? [growth] : [growth, why]),
    });
    mkdirSync(join(folder, 'deep'));
    writeFileSync(join(folder, 'deep/file'), Buffer.alloc(16 * MB, 1), { flush: true });
    const [growth, why] = await exceeded.promise;
    expect(growth).toBeGreaterThan(4 * MB);
    expect(why).toBe('there are more files than can be counted');
    await watch.stop();
  });

  it('never may fill its disk to the end, however wide the cap', async () => {
    writeFileSync(join(folder, 'before'), Buffer.alloc(8 * MB, 1), { flush: true });
    const watch = await watchGrowth({
      path: folder,
      maxGrowthBytes: 2 ** 50,
      pollMs: 10,
      onExceeded: () => undefined,
    });
    const { bavail, bsize } = statfsSync(folder);
    expect(watch.maxGrowthBytes / (bavail * bsize)).toBeCloseTo(0.9, 1);
    await watch.stop();
  });

  it('is walked more and more rarely while nothing changes, and often again once something has', async () => {
    const pollMs = 20;
    const walkedAtMs: number[] = [];
    const walks = new EventEmitter();
    const watch = await watchGrowth({
      path: folder,
      maxGrowthBytes: 2 ** 50, // what others write to this disk does not matter
      pollMs,
      unseenBytes: () => {
        walkedAtMs.push(performance.now());
        walks.emit(String(walkedAtMs.length));
        return 0;
      },
      onExceeded: () => undefined,
    });
    const pauseBefore = (walk: number): number => (walkedAtMs[walk - 1] ?? 0) - (walkedAtMs[walk - 2] ?? 0);
    await once(walks, '7');
    const polls = [3, 4, 5, 6, 7].map((walk) => pauseBefore(walk) / pollMs);
    for (const [index, least] of [4, 8, 16, 32, 32].entries())
      expect(polls[index], polls.join(' ')).toBeGreaterThanOrEqual(least);
    writeFileSync(join(folder, 'new'), Buffer.alloc(MB, 1), { flush: true });
    await once(walks, '9'); // the eighth finds it
    expect(pauseBefore(9)).toBeLessThan(32 * pollMs);
    await watch.stop();
  });

  it('is not reported after the watch was stopped', async () => {
    let calls = 0;
    const watch = await watchGrowth({
      path: folder,
      maxGrowthBytes: 1,
      pollMs: 5,
      onExceeded: () => (calls += 1),
    });
    await watch.stop();
    writeFileSync(join(folder, 'late'), Buffer.alloc(MB, 1), { flush: true });
    await watch.stop();
    expect(calls).toBe(0);
  });
});
