import { hash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { HeldRoots } from './held-roots.ts';
import { openLocalStore, type LocalStore } from './local-store.ts';

function openStore(): LocalStore {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-held-roots-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return openLocalStore(folder);
}

const put = async (store: LocalStore, text: string): Promise<string> =>
  (await store.putBlob(Buffer.from(text))).digest;

it('collects what was listed and is no root, and nothing that was put behind the list', async () => {
  const store = openStore();
  const [root, needed, garbage] = [
    await put(store, 'root'),
    await put(store, 'needed'),
    await put(store, 'garbage'),
  ];
  const roots = await HeldRoots.list(store);
  const later = await put(store, 'later');
  const lost = hash('sha256', 'lost');
  roots.add(root);
  roots.add(hash('sha256', 'of no blob'));
  expect([roots.need(needed), roots.need(needed)]).toEqual([true, false]);
  expect([roots.need(lost), roots.need(lost)]).toEqual([true, false]);
  const options = { graceMs: -1000, needed: { has: (digest: string) => roots.isNeeded(digest) } };
  expect(await store.gc(roots, options)).toMatchObject({ removedBlobs: 1, keptBlobs: 3, missing: [lost] });
  expect(await store.hasBlob(garbage)).toBe(false);
  expect(await store.hasBlob(later)).toBe(true);
});

it('what was needed and not listed is not missing once it was put', async () => {
  const store = openStore();
  const roots = await HeldRoots.list(store);
  roots.need(await put(store, 'put meanwhile'));
  const needed = { has: (digest: string): boolean => roots.isNeeded(digest) };
  expect(await store.gc(roots, { graceMs: 0, needed })).toMatchObject({ missing: [], problems: [] });
});

it('a root that is listed is only reported as missing if it is needed', async () => {
  const store = openStore();
  const digests = [await put(store, 'one'), await put(store, 'two')];
  const roots = await HeldRoots.list(store);
  for (const digest of digests) roots.add(digest);
  expect([...roots]).toEqual([]);
  expect(digests.map((digest) => roots.isNeeded(digest))).toEqual([false, false]);
  expect(digests.every((digest) => roots.has(digest))).toBe(true);
});
