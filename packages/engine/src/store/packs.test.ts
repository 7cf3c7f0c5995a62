import { hash } from 'node:crypto';
import { mkdtempSync, readdirSync, renameSync, rmSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it, onTestFinished } from 'vitest';
import { HeldRoots } from './held-roots.ts';
import { createLayout } from './local-layout.ts';
import { openLocalStore } from './local-store.ts';
import { tidyStore } from './pack-loose.ts';
import { PackWriter } from './pack-writer.ts';
import { Packs } from './packs.ts';

function fresh(): string {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-packs-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const bytesOf = (name: number): Buffer => Buffer.from(`content ${name}`);

async function writePack(folder: string, first: number, count: number): Promise<string[]> {
  const writer = new PackWriter(createLayout(folder));
  const digests: string[] = [];
  for (let name = first; name < first + count; name += 1) {
    digests.push(hash('sha256', bytesOf(name)));
    await writer.add(digests.at(-1) ?? '', bytesOf(name));
  }
  await writer.commit();
  return digests;
}

/** Bytes of buffers that are still needed. */
function measureBuffers(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().arrayBuffers;
}

it('of a packed blob few bytes are in memory, and each is found', async () => {
  const [folder, count] = [fresh(), 100_000];
  const digests = await writePack(folder, 0, count);
  const before = measureBuffers();
  const packs = new Packs(createLayout(folder));
  packs.refresh();
  expect((measureBuffers() - before) / count).toBeLessThan(6);
  for (let name = 0; name < count; name += 1000)
    expect(packs.find(digests[name] ?? '')?.size).toBe(bytesOf(name).length);
  expect(packs.find(hash('sha256', 'no content'))).toBeNull();
  expect([...packs.listBlobs()].toSorted()).toEqual(digests.toSorted());
});

it('who lists blobs while packs are replaced by one sees those of all of them', async () => {
  const folder = fresh();
  const digests = new Set<string>();
  for (let pack = 0; pack < 40; pack += 1)
    for (const digest of await writePack(folder, pack * 2, 2)) digests.add(digest);
  const listing = new Packs(createLayout(folder)).listBlobs();
  const seen = new Set([listing.next().value]);
  await tidyStore(folder);
  expect(readdirSync(join(folder, 'packs')).length).toBe(1);
  for (const digest of listing) seen.add(digest);
  expect(seen).toEqual(digests);
});

it('a pack that a killed collection left in the trash keeps no other from it', async () => {
  const folder = fresh();
  const digests = await writePack(folder, 0, 2);
  const [pack = ''] = readdirSync(join(folder, 'packs'));
  mkdirSync(join(folder, 'trash'));
  renameSync(join(folder, 'packs', pack), join(folder, 'trash', pack));
  const store = openLocalStore(folder);
  const roots = await HeldRoots.list(store);
  for (const digest of digests) roots.need(digest);
  expect(await store.gc(roots, { graceMs: 0 })).toMatchObject({ keptBlobs: 2, missing: [], problems: [] });
  expect(readdirSync(join(folder, 'packs'))).toEqual([pack]);
});

it('a collection writes many blobs together in packs that it can hold in memory', async () => {
  const folder = fresh();
  const digests: string[] = [];
  for (let pack = 0; pack < 66; pack += 1) digests.push(...(await writePack(folder, pack * 1000, 1000)));
  const store = openLocalStore(folder);
  expect(await store.gc(digests, { graceMs: -1000 })).toMatchObject({
    ...{ keptBlobs: 66_000, removedBlobs: 0, problems: [], missing: [] },
  });
  expect(readdirSync(join(folder, 'packs')).length).toBe(2);
  const late = openLocalStore(folder);
  for (const [name, digest] of digests.entries())
    if (name % 100 === 0) expect(await late.getBlob(digest)).toEqual(bytesOf(name));
}, 60_000);
