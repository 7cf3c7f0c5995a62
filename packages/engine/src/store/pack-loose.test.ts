import { existsSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, it, onTestFinished } from 'vitest';

import { digestOf } from './digest.ts';
import { StoreCorruptError } from './errors.ts';
import { blobFile, createLayout } from './local-layout.ts';
import { openLocalStore } from './local-store.ts';
import { tidyStore } from './pack-loose.ts';

function fresh(): string {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-pack-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const bytesOf = (name: string): Buffer => Buffer.from(`content ${name}`);

async function put(folder: string, names: readonly string[]): Promise<string[]> {
  const store = openLocalStore(folder);
  return Promise.all(names.map(async (name) => (await store.putBlob(bytesOf(name))).digest));
}

const numbered = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix} ${index}`);

const countFiles = (folder: string): number =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).length;

it('makes one file of many small ones, for those too who looked before', async () => {
  const folder = fresh();
  const early = openLocalStore(folder);
  const digests = await put(folder, numbered('blob', 100));
  expect(await early.hasBlob(digests[0] ?? '')).toBe(true);
  await tidyStore(folder);
  expect(countFiles(folder)).toBe(1);
  for (const store of [early, openLocalStore(folder)])
    for (const [index, digest] of digests.entries())
      expect(await store.getBlob(digest)).toEqual(bytesOf(`blob ${index}`));
});

it('leaves the folders of blobs where they are, and counts files, not folders', async () => {
  const folder = fresh();
  await put(folder, numbered('blob', 100));
  const shards = readdirSync(join(folder, 'blobs'));
  await tidyStore(folder);
  expect(readdirSync(join(folder, 'blobs'))).toEqual(shards);
  await put(folder, numbered('few', 10));
  await tidyStore(folder);
  expect(countFiles(folder)).toBe(11);
});

it('makes one pack of many that were written for a few blobs each, and leaves a few such packs', async () => {
  const folder = fresh();
  const store = openLocalStore(folder);
  const digests: string[] = [];
  const putPairs = async (prefix: string, count: number): Promise<void> => {
    for (const name of numbered(prefix, count)) {
      const refs = await store.putBlobs([bytesOf(name), bytesOf(`${name}, too`)]);
      digests.push(...refs.map(({ digest }) => digest));
    }
  };
  await putPairs('early', 10);
  await tidyStore(folder);
  expect(countFiles(folder)).toBe(10);
  await putPairs('late', 30);
  await tidyStore(folder);
  expect(countFiles(folder)).toBe(1);
  expect(await store.gc(digests, { graceMs: 0 })).toMatchObject({ keptBlobs: 80, missing: [] });
  for (const digest of digests) expect(digestOf(await store.getBlob(digest))).toBe(digest);
});

it('leaves few files as they are, and large ones always', async () => {
  const folder = fresh();
  await put(folder, numbered('few', 10));
  await tidyStore(folder);
  expect(countFiles(folder)).toBe(10);
  const large = await openLocalStore(folder).putBlob(Buffer.alloc(100_000));
  await put(folder, numbered('more', 100));
  await tidyStore(folder);
  expect(countFiles(folder)).toBe(2);
  expect(existsSync(blobFile(createLayout(folder), large.digest))).toBe(true);
});

it('makes one pack of many small packs', async () => {
  const folder = fresh();
  const digests: string[] = [];
  for (let round = 0; round < 10; round += 1) {
    digests.push(...(await put(folder, numbered(`round ${round}`, 45))));
    await tidyStore(folder);
  }
  expect(countFiles(folder)).toBeLessThanOrEqual(9);
  const store = openLocalStore(folder);
  for (const digest of digests) expect(digestOf(await store.getBlob(digest))).toBe(digest);
  expect(await store.gc(digests, { graceMs: 0 })).toMatchObject({ keptBlobs: 450, missing: [] });
});

it('leaves a damaged blob where it is, and packs the others', async () => {
  const folder = fresh();
  const [damaged = '', ...sound] = await put(folder, numbered('blob', 100));
  writeFileSync(blobFile(createLayout(folder), damaged), 'something else');
  await tidyStore(folder);
  expect(countFiles(folder)).toBe(2);
  const store = openLocalStore(folder);
  await expect(store.getBlob(damaged)).rejects.toThrow(StoreCorruptError);
  for (const digest of sound) expect(digestOf(await store.getBlob(digest))).toBe(digest);
});

it('loses nothing while others put, read, pack and collect', async () => {
  const folder = fresh();
  const digests: string[] = [];
  const writer = async (name: string): Promise<void> => {
    for (let round = 0; round < 3; round += 1) {
      const names = [...numbered(`${name} ${round}`, 20), ...numbered('shared', 20)];
      digests.push(...(await put(folder, names)));
      const store = openLocalStore(folder);
      for (const digest of digests) expect(digestOf(await store.getBlob(digest))).toBe(digest);
    }
  };
  const packer = async (): Promise<void> => {
    for (let round = 0; round < 8; round += 1) await tidyStore(folder);
  };
  const collector = async (): Promise<void> => {
    for (let round = 0; round < 4; round += 1)
      await openLocalStore(folder).gc([...digests], { graceMs: 60_000 });
  };
  await Promise.all([writer('a'), writer('b'), packer(), packer(), collector()]);
  await tidyStore(folder);
  const store = openLocalStore(folder);
  for (const digest of digests) expect(digestOf(await store.getBlob(digest))).toBe(digest);
});

it('removes what a writer that was killed left half-way, once it is old', async () => {
  const folder = fresh();
  await put(folder, ['one']);
  const left = join(folder, 'tmp', 'left');
  writeFileSync(left, 'half');
  await tidyStore(folder);
  expect(existsSync(left)).toBe(true);
  const then = Date.now() / 1000 - 3601;
  utimesSync(left, then, then);
  await tidyStore(folder);
  expect(existsSync(left)).toBe(false);
});
