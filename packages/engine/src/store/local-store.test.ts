import {
  chmod,
  link,
  mkdtemp,
  open,
  readdir,
  readFile,
  rm,
  stat,
  truncate,
  utimes,
  writeFile,
  mkdir,
} from 'node:fs/promises';
import { closeSync, existsSync, openSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { runBounded } from '@caisson/ground';

import type { Store } from './contract.ts';
import { StoreAccessError, StoreCorruptError } from './errors.ts';
import { blobFile, createLayout } from './local-layout.ts';
import { openLocalStore } from './local-store.ts';
import { findInIndex, readPackIndex } from './pack-format.ts';
import { describeStoreConformance } from './store-conformance.ts';

async function listFiles(folder: string): Promise<string[]> {
  if (!existsSync(folder)) return [];
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  return found.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

async function flipByte(file: string, position: number): Promise<void> {
  const handle = await open(file, 'r+');
  const byte = Buffer.alloc(1);
  await handle.read(byte, 0, 1, position);
  byte[0] = (byte[0] ?? 0) ^ 1;
  await handle.write(byte, 0, 1, position);
  await handle.close();
}

async function damageBlob(folder: string, digest: string): Promise<void> {
  const loose = blobFile(createLayout(folder), digest);
  if (existsSync(loose)) return await flipByte(loose, 0);
  for (const file of await listFiles(join(folder, 'packs'))) {
    const pack = openSync(file, 'r');
    const place = findInIndex(pack, readPackIndex(file, file.slice(-69, -5)), Buffer.from(digest, 'hex'));
    closeSync(pack);
    if (place !== null) return await flipByte(file, place.offset);
  }
  throw new Error(`${digest} is not in the store`);
}

async function ageFiles(folder: string, ms: number): Promise<void> {
  const then = (Date.now() - ms) / 1000;
  for (const file of await listFiles(folder)) await utimes(file, then, then);
}

describeStoreConformance('the local store', async () => {
  const base = await mkdtemp(join(tmpdir(), 'caisson-local-store-'));
  const folders = new Map<Store, string>();
  const folderOf = (store: Store) => folders.get(store) ?? '';
  return {
    open: async () => {
      const folder = join(await mkdtemp(join(base, 's-')), 'store');
      const store = openLocalStore(folder);
      folders.set(store, folder);
      return store;
    },
    damage: (store, digest) => damageBlob(folderOf(store), digest),
    age: (store, ms) => ageFiles(folderOf(store), ms),
    stop: () => rm(base, { recursive: true, force: true }),
  };
});

describe('the local store folder', () => {
  let work: string;
  beforeAll(async () => {
    work = await mkdtemp(join(tmpdir(), 'caisson-local-'));
  });
  afterAll(() => rm(work, { recursive: true, force: true }));
  const fresh = () => mkdtemp(join(work, 'd-'));

  it('opens without touching the disk and in under a millisecond', async () => {
    const folder = join(await fresh(), 'store');
    openLocalStore(folder);
    const startedAt = performance.now();
    const store = openLocalStore(folder);
    expect(performance.now() - startedAt).toBeLessThan(1);
    expect(existsSync(folder)).toBe(false);
    expect(await store.hasBlob('0'.repeat(64))).toBe(false);
  });

  it('keeps folders at 0700 and files at 0600, whatever the umask', async () => {
    const folder = join(await fresh(), 'store');
    const source = await fresh();
    await writeFile(join(source, 'f'), 'x');
    const store = openLocalStore(folder);
    await store.putBlob(Buffer.from('y'));
    await store.putBundle(source);
    for (const file of await listFiles(folder)) expect((await stat(file)).mode & 0o777).toBe(0o600);
    for (const name of ['', 'blobs', 'packs', 'tmp'])
      expect((await stat(join(folder, name))).mode & 0o777).toBe(0o700);
  });

  it('leaves no temporary file behind, after success or failure', async () => {
    const folder = join(await fresh(), 'store');
    const source = await fresh();
    await writeFile(join(source, 'a'), 'x'.repeat(100));
    await writeFile(join(source, 'b'), Buffer.alloc(3_000_000, 7));
    const store = openLocalStore(folder);
    await store.putBundle(source);
    await mkdir(join(source, 'z'));
    await writeFile(join(source, 'z/Q'), '');
    await writeFile(join(source, 'z/q'), 'new');
    await expect(store.putBundle(source)).rejects.toMatchObject({ reason: 'case-collision' });
    expect(await readdir(join(folder, 'tmp'))).toEqual([]);
  });

  it('ignores leftovers of an interrupted write and sweeps them once they are old', async () => {
    const folder = join(await fresh(), 'store');
    const store = openLocalStore(folder);
    const { digest } = await store.putBlob(Buffer.from('kept'));
    await writeFile(join(folder, 'tmp/torn'), 'half a bl');
    await writeFile(join(folder, 'tmp/in-progress'), 'half a bl');
    await utimes(join(folder, 'tmp/torn'), 1, 1);
    expect((await store.gc([digest], { graceMs: 0 })).sweptTemps).toBe(1);
    expect(await readdir(join(folder, 'tmp'))).toEqual(['in-progress']);
  });

  it('finds what another process put after this one had looked', async () => {
    const folder = join(await fresh(), 'store');
    const source = await fresh();
    await writeFile(join(source, 'f'), 'from elsewhere');
    const here = openLocalStore(folder);
    const there = openLocalStore(folder);
    await here.putBundle(await fresh());
    const ref = await there.putBundle(source);
    expect((await here.readManifest(ref.hash)).entries).toHaveLength(1);
  });

  it('keeps reading while another process repacks', async () => {
    const folder = join(await fresh(), 'store');
    const source = await fresh();
    await writeFile(join(source, 'keep'), 'keep');
    await writeFile(join(source, 'drop'), 'drop');
    const reader = openLocalStore(folder);
    const ref = await reader.putBundle(source);
    const keep = (await reader.readManifest(ref.hash)).entries.find((entry) => entry.path === 'keep');
    if (keep?.kind !== 'file') throw new Error('no entry');
    await ageFiles(folder, 3_600_000);
    expect(await openLocalStore(folder).gc([keep.digest], { graceMs: 1000 })).toMatchObject({
      removedBlobs: 2,
      keptBlobs: 1,
    });
    expect((await reader.getBlob(keep.digest)).toString()).toBe('keep');
    expect(await reader.hasBlob(ref.hash)).toBe(false);
    expect(await reader.putBundle(source)).toEqual(ref);
    expect((await reader.readManifest(ref.hash)).entries).toHaveLength(2);
  });

  it('makes one pack of many, so that looking for a blob stays cheap', async () => {
    const folder = join(await fresh(), 'store');
    const store = openLocalStore(folder);
    const source = await fresh();
    const hashes: string[] = [];
    for (let index = 0; index < 66; index += 1) {
      await writeFile(join(source, 'f'), `version ${index}`);
      hashes.push((await store.putBundle(source)).hash);
    }
    await ageFiles(folder, 3_600_000);
    expect(await store.gc(hashes, { graceMs: 1000 })).toMatchObject({
      keptBlobs: 132,
      removedBlobs: 0,
      missing: [],
    });
    expect(await readdir(join(folder, 'packs'))).toHaveLength(1);
    for (const hash of hashes)
      expect((await openLocalStore(folder).readManifest(hash)).entries).toHaveLength(1);
  });

  it('restores what a gc that died had moved to the trash', async () => {
    const folder = join(await fresh(), 'store');
    const store = openLocalStore(folder);
    const { digest } = await store.putBlob(Buffer.from('nearly lost'));
    await mkdir(join(folder, 'trash'));
    const file = blobFile(createLayout(folder), digest);
    await link(file, join(folder, 'trash', digest));
    await rm(file);
    expect((await store.getBlob(digest)).toString()).toBe('nearly lost');
    await store.gc([digest], { graceMs: 0 });
    expect(existsSync(file)).toBe(true);
    expect(await readdir(join(folder, 'trash'))).toEqual([]);
  });

  it('names a pack whose index is damaged instead of calling its blobs absent', async () => {
    const folder = join(await fresh(), 'store');
    const source = await fresh();
    await writeFile(join(source, 'f'), 'content');
    const ref = await openLocalStore(folder).putBundle(source);
    const [pack = ''] = await listFiles(join(folder, 'packs'));
    const { size } = await stat(pack);
    const original = await readFile(pack);
    for (let back = 1; back <= 56 + 96; back += 1) {
      await flipByte(pack, size - back);
      await expect(openLocalStore(folder).hasBlob(ref.hash)).rejects.toThrow(StoreCorruptError);
      await writeFile(pack, original);
    }
    for (const cut of [size - 1, size - 60, 10, 0]) {
      await writeFile(pack, original.subarray(0, cut));
      await expect(openLocalStore(folder).getBlob(ref.hash)).rejects.toThrow(pack);
    }
  });

  it('reports a store that cannot be read as an access error, never as a missing blob', async () => {
    const folder = join(await fresh(), 'store');
    const { digest } = await openLocalStore(folder).putBlob(Buffer.from('x'));
    await rm(join(folder, 'blobs'), { recursive: true });
    await writeFile(join(folder, 'blobs'), 'a file where a folder belongs');
    await expect(openLocalStore(folder).getBlob(digest)).rejects.toThrow(StoreAccessError);
    await expect(openLocalStore(folder).hasBlob(digest)).rejects.toThrow(StoreAccessError);
    await expect(openLocalStore(folder).putBlob(Buffer.from('y'))).rejects.toThrow(StoreAccessError);
  });

  it('uses hard links only for a read-only target and never for an executable file', async () => {
    const source = await fresh();
    await writeFile(join(source, 'big'), Buffer.alloc(1_500_000, 1));
    await writeFile(join(source, 'tool'), Buffer.alloc(1_500_000, 2));
    await chmod(join(source, 'tool'), 0o755);
    const folder = join(await fresh(), 'store');
    const store = openLocalStore(folder);
    const ref = await store.putBundle(source);
    const [shared, own] = [join(await fresh(), 'o'), join(await fresh(), 'o')];
    await store.materialise(ref.hash, shared, { readOnly: true });
    await store.materialise(ref.hash, own);
    const blobInodes = await Promise.all(
      (await listFiles(join(folder, 'blobs'))).map(async (file) => (await stat(file)).ino),
    );
    const isShared = async (file: string) => blobInodes.includes((await stat(file)).ino);
    expect(await isShared(join(own, 'big'))).toBe(false);
    expect(await isShared(join(shared, 'tool'))).toBe(false);
    expect((await stat(join(shared, 'tool'))).mode & 0o777).toBe(0o555);
  });

  it('takes ten thousand files, and refuses one byte over fifty mebibytes when asked', async () => {
    const source = await fresh();
    for (let index = 0; index < 10_000; index += 1) {
      if (index % 500 === 0) await mkdir(join(source, `d${index / 500}`));
      await writeFile(join(source, `d${Math.floor(index / 500)}/f${index}`), `${index}`);
    }
    const store = openLocalStore(join(await fresh(), 'store'));
    const ref = await store.putBundle(source);
    expect(ref.files).toBe(10_000);
    expect(await store.putBundle(source)).toEqual(ref);
    const large = await fresh();
    await (await open(join(large, 'f'), 'w')).close();
    await truncate(join(large, 'f'), 50 * 1024 * 1024 + 1);
    await expect(store.putBundle(large, { maxBytes: 50 * 1024 * 1024 })).rejects.toMatchObject({
      reason: 'too-large',
    });
    await truncate(join(large, 'f'), 50 * 1024 * 1024);
    expect((await store.putBundle(large, { maxBytes: 50 * 1024 * 1024 })).size).toBe(50 * 1024 * 1024);
  });

  it('refuses a pipe', async () => {
    const source = await fresh();
    await runBounded({ file: 'mkfifo', args: [join(source, 'pipe')], timeoutMs: 5000, maxOutputBytes: 1000 });
    const store = openLocalStore(join(await fresh(), 'store'));
    await expect(store.putBundle(source)).rejects.toMatchObject({ reason: 'special-file', path: 'pipe' });
  });
});
