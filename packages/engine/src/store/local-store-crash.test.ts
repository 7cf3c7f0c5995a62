/** What the store promises when processes die or work at the same time. Real processes, real files. */
import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { runBounded } from '@caisson/ground';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { StoreAccessError } from './errors.ts';
import { openLocalStore } from './local-store.ts';

const fixture = (name: string) => fileURLToPath(new URL(`fixtures/${name}`, import.meta.url));

describe('a local store that several processes use', () => {
  let work: string;
  beforeAll(async () => {
    work = await mkdtemp(join(tmpdir(), 'caisson-crash-'));
  });
  afterAll(() => rm(work, { recursive: true, force: true }));
  const fresh = () => mkdtemp(join(work, 'd-'));

  it('keeps every blob and bundle it promised to a process that was killed', async () => {
    const [folder, source] = [join(await fresh(), 'store'), await fresh()];
    const killed = await runBounded({
      file: process.execPath,
      args: [fixture('puts-until-killed.mjs'), folder, source],
      timeoutMs: 30_000,
      maxOutputBytes: 1_000_000,
    });
    expect([killed.signal, killed.stderr.toString()]).toEqual(['SIGKILL', '']);
    const promised = killed.stdout
      .toString()
      .trim()
      .split('\n')
      .map((line) => line.split(' '));
    expect(promised.length).toBeGreaterThanOrEqual(24);
    const store = openLocalStore(folder);
    for (const [, digest = ''] of promised) await store.getBlob(digest);
    for (const [kind, digest = ''] of promised.slice(-20)) {
      if (kind === 'bundle') await store.materialise(digest, join(await fresh(), 'out'));
    }
    const last = promised.findLast(([kind]) => kind === 'bundle')?.[1] ?? '';
    for (const name of await readdir(join(folder, 'tmp'))) await utimes(join(folder, 'tmp', name), 1, 1);
    await store.gc([last], { graceMs: 0 });
    expect(await readdir(join(folder, 'tmp'))).toEqual([]);
    await store.materialise(last, join(await fresh(), 'out'));
  });

  it('makes and syncs the folders of new blobs beside the event loop', async () => {
    const [folder, traces] = [join(await fresh(), 'store'), await fresh()];
    const { exitCode, stderr } = await runBounded({
      file: process.execPath,
      args: [
        '--trace-event-categories=node.fs.sync',
        `--trace-event-file-pattern=${join(traces, 'trace')}`,
        ...[fixture('puts-many.mjs'), folder, '60'],
      ],
      timeoutMs: 60_000,
      maxOutputBytes: 100_000,
    });
    expect([exitCode, stderr.toString()]).toEqual([0, '']);
    expect((await readdir(join(folder, 'blobs'))).length).toBeGreaterThan(40);
    const trace = await readFile(join(traces, 'trace'), 'utf8');
    const count = (call: string) => (trace.split(`"name":"fs.sync.${call}"`).length - 1) / 2; // begin and end
    expect(count('stat')).toBeGreaterThan(0); // they are traced
    // The store's own folder, and that of temporary files.
    expect([count('mkdir'), count('fsync')].every((calls) => calls <= 4)).toBe(true);
  });

  it('never loses what was just put to a gc in another process', async () => {
    const [folder, source, stopFile] = [
      join(await fresh(), 'store'),
      await fresh(),
      join(await fresh(), 'stop'),
    ];
    for (let index = 0; index < 20; index += 1)
      await writeFile(join(source, `f${index}`), `content ${index}`);
    await writeFile(join(source, 'large'), Buffer.alloc(1_200_000, 1));
    const store = openLocalStore(folder);
    const collector = runBounded({
      file: process.execPath,
      args: [fixture('collects-garbage-until-stopped.mjs'), folder, stopFile],
      timeoutMs: 60_000,
      maxOutputBytes: 10_000,
    });
    try {
      await store.putBundle(source);
      await makeOld(folder);
      while ((await readdir(join(folder, 'packs'))).length > 0) await store.hasBlob('0'.repeat(64)); // it is at work
      for (let round = 0; round < 60; round += 1) {
        await makeOld(folder);
        const { hash } = await store.putBundle(source);
        const { digest } = await store.putBlob(Buffer.from('alone'));
        await store.materialise(hash, join(await fresh(), 'out'));
        expect((await store.getBlob(digest)).toString()).toBe('alone');
      }
    } finally {
      await writeFile(stopFile, '');
    }
    const collected = await collector;
    expect(collected.stderr.toString()).toBe('');
    expect(Number(collected.stdout.toString())).toBeGreaterThan(0);
  });

  it('says that a full disk is a full disk, and stays usable', async () => {
    const disk = await fresh();
    const mounted = await runBounded({
      file: 'mount',
      args: ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', disk],
      timeoutMs: 5000,
      maxOutputBytes: 1000,
    });
    expect(mounted.stderr.toString()).toBe('');
    try {
      const store = openLocalStore(join(disk, 'store'));
      const { digest } = await store.putBlob(Buffer.from('fits'));
      const source = await fresh();
      await writeFile(join(source, 'small'), Buffer.alloc(900_000, 1));
      await writeFile(join(source, 'more'), Buffer.alloc(900_000, 2));
      await expect(store.putBundle(source)).rejects.toThrow(StoreAccessError);
      await expect(store.putBlob(Buffer.alloc(2_000_000))).rejects.toThrow(/ENOSPC/);
      expect(await readdir(join(disk, 'store/tmp'))).toEqual([]);
      expect((await store.getBlob(digest)).toString()).toBe('fits');
      await store.putBlob(Buffer.from('fits too'));
    } finally {
      await runBounded({ file: 'umount', args: [disk], timeoutMs: 5000, maxOutputBytes: 1000 });
    }
  });
});

async function makeOld(folder: string): Promise<void> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  for (const entry of found.filter((candidate) => candidate.isFile())) {
    // gc may have been faster.
    await utimes(join(entry.parentPath, entry.name), 1, 1).catch(() => undefined);
  }
}
