import { lstatSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { openLocalStore } from './local-store.ts';
import { isRacy } from './stat-cache.ts';

describe('the stat cache', () => {
  let work: string;
  beforeAll(async () => {
    work = await mkdtemp(join(tmpdir(), 'caisson-stat-cache-'));
  });
  afterAll(() => rm(work, { recursive: true, force: true }));
  const fresh = () => mkdtemp(join(work, 'd-'));

  it('does not trust a file whose times are not clearly before it was read', async () => {
    const file = join(await fresh(), 'f');
    await writeFile(file, 'x');
    const stats = lstatSync(file, { bigint: true });
    const changedAtMs = Number(stats.ctimeNs / 1_000_000n);
    expect(isRacy(stats, changedAtMs)).toBe(true);
    expect(isRacy(stats, changedAtMs + 5)).toBe(true);
    expect(isRacy(stats, changedAtMs + 50)).toBe(false);
    expect(isRacy(stats, changedAtMs - 10_000)).toBe(true);
    await utimes(file, Date.now() / 1000 + 3600, Date.now() / 1000 + 3600);
    expect(isRacy(lstatSync(file, { bigint: true }), Date.now() + 1000)).toBe(true);
  });

  it('never hides a change, however quickly it follows and whatever is done to the times', async () => {
    const source = await fresh();
    const store = openLocalStore(join(await fresh(), 'store'));
    const file = join(source, 'f');
    const seen = new Set<string>();
    for (let round = 0; round < 100; round += 1) {
      await writeFile(file, String(1000 + round));
      if (round % 2 === 0) await utimes(file, 1_000_000, 1_000_000);
      seen.add((await store.putBundle(source)).hash);
    }
    expect(seen.size).toBe(100);
  });

  it('is only a hint: damaged, it is read as empty', async () => {
    const [folder, source] = [join(await fresh(), 'store'), await fresh()];
    await writeFile(join(source, 'f'), 'content');
    await utimes(join(source, 'f'), 1, 1);
    await waitUntilOld(join(source, 'f'));
    const store = openLocalStore(folder);
    const ref = await store.putBundle(source);
    const [name = ''] = await readdir(join(folder, 'stat-cache'));
    const cache = join(folder, 'stat-cache', name);
    const original = await readFile(cache, 'utf8');
    for (const damage of [
      '',
      'junk',
      original.slice(0, -1),
      original.replace(/[0-9a-f]{64}"/, `${'0'.repeat(64)}"`),
    ]) {
      await writeFile(cache, damage);
      expect(await store.putBundle(source)).toEqual(ref);
    }
  });
});

/** Until the clock has moved past the file's times by the margin of the racy rule. */
async function waitUntilOld(file: string): Promise<void> {
  while (isRacy(lstatSync(file, { bigint: true }), Date.now()))
    await new Promise((resolve) => setImmediate(resolve));
}
