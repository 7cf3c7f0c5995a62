/** What every store promises. Each implementation runs it in a line. */
import {
  chmod,
  mkdir,
  mkdtemp,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  writeFile,
  lstat,
  readdir,
} from 'node:fs/promises';
import { createHash, randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import type { Store } from './contract.ts';
import {
  BlobMissingError,
  BundleRefusedError,
  InvalidDigestError,
  StoreCorruptError,
  TargetOccupiedError,
} from './errors.ts';

export interface StoreFixture {
  /** A fresh, empty store. */
  open(): Promise<Store>;
  /** Changes the stored bytes of a blob behind the store's back. */
  damage(store: Store, digest: string): Promise<void>;
  /** Makes everything in the store look this old. */
  age(store: Store, ms: number): Promise<void>;
}

export function describeStoreConformance(
  name: string,
  start: () => Promise<StoreFixture & { stop(): Promise<void> }>,
): void {
  describe(`${name} keeps the store's promises`, () => {
    let fixture: Awaited<ReturnType<typeof start>>;
    let work: string;
    let store: Store;
    beforeAll(async () => {
      fixture = await start();
      work = await mkdtemp(join(tmpdir(), 'caisson-store-test-'));
    });
    afterAll(async () => {
      await fixture.stop();
      await rm(work, { recursive: true, force: true });
    });
    beforeEach(async () => {
      store = await fixture.open();
    });

    const freshFolder = () => mkdtemp(join(work, 'd-'));
    const writeTree = async (files: Record<string, string | Buffer>): Promise<string> => {
      const root = await freshFolder();
      for (const [path, content] of Object.entries(files)) {
        await mkdir(join(root, path, '..'), { recursive: true });
        await writeFile(join(root, path), content);
      }
      return root;
    };

    it('lists every blob once, those of bundles too, and nothing else', async () => {
      expect(await listAll(store)).toEqual([]);
      const { digest } = await store.putBlob(Buffer.from('alone'));
      await mkdir(join(work, 'listed'), { recursive: true });
      await writeFile(join(work, 'listed', 'a'), 'small');
      await writeFile(join(work, 'listed', 'b'), 'small');
      const { hash } = await store.putBundle(join(work, 'listed'));
      const small = createHash('sha256').update('small').digest('hex');
      expect((await listAll(store)).toSorted()).toEqual([digest, hash, small].toSorted());
    });

    it('returns what was put, from bytes, a stream and a file, under the same digest', async () => {
      const bytes = randomBytes(300_000);
      const expected = { digest: createHash('sha256').update(bytes).digest('hex'), size: bytes.length };
      const file = join(await freshFolder(), 'blob');
      await writeFile(file, bytes);
      expect(await store.putBlob(bytes)).toEqual(expected);
      expect(await store.putBlob(Readable.from([bytes.subarray(0, 7), bytes.subarray(7)]))).toEqual(expected);
      expect(await store.putBlob(file)).toEqual(expected);
      expect((await store.getBlob(expected.digest)).equals(bytes)).toBe(true);
      expect((await buffer(await store.openBlob(expected.digest))).equals(bytes)).toBe(true);
      expect(await store.hasBlob(expected.digest)).toBe(true);
    });

    it('holds an empty blob like any other', async () => {
      const { digest } = await store.putBlob(new Uint8Array());
      expect((await store.getBlob(digest)).length).toBe(0);
      expect((await buffer(await store.openBlob(digest))).length).toBe(0);
    });

    it('says that a blob is missing, and refuses what is not a digest', async () => {
      const absent = '0'.repeat(64);
      expect(await store.hasBlob(absent)).toBe(false);
      await expect(store.getBlob(absent)).rejects.toThrow(BlobMissingError);
      await expect(store.openBlob(absent)).rejects.toThrow(BlobMissingError);
      for (const bad of ['', '../../etc/passwd', 'A'.repeat(64), '0'.repeat(63)]) {
        await expect(store.getBlob(bad)).rejects.toThrow(InvalidDigestError);
        await expect(store.hasBlob(bad)).rejects.toThrow(InvalidDigestError);
      }
    });

    it('notices changed bytes on every way of reading, and names digest and place', async () => {
      const { digest } = await store.putBlob(Buffer.from('precious'));
      await fixture.damage(store, digest);
      const failure = await store.getBlob(digest).catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(StoreCorruptError);
      expect(failure).toMatchObject({ digest, message: expect.stringContaining(digest) });
      await expect(store.openBlob(digest).then(buffer)).rejects.toThrow(StoreCorruptError);
    });

    it('writes a bundle back as it was: content, executable bit, links, empty folders', async () => {
      const root = await writeTree({
        'a/one.txt': 'one',
        'a/b/two.bin': randomBytes(2_000_000),
        'run.sh': '#!/bin/sh\n',
        'ü/ñ': 'x',
      });
      await chmod(join(root, 'run.sh'), 0o755);
      await symlink('one.txt', join(root, 'a/link'));
      await symlink('../run.sh', join(root, 'a/up'));
      await mkdir(join(root, 'hollow/inner'), { recursive: true });
      const ref = await store.putBundle(root);
      expect(ref).toMatchObject({ files: 6, size: 3 + 2_000_000 + 10 + 1 });
      const target = join(await freshFolder(), 'out');
      expect(await store.materialise(ref.hash, target)).toEqual(ref);
      expect(await readFile(join(target, 'a/one.txt'), 'utf8')).toBe('one');
      expect(
        (await readFile(join(target, 'a/b/two.bin'))).equals(await readFile(join(root, 'a/b/two.bin'))),
      ).toBe(true);
      expect((await stat(join(target, 'run.sh'))).mode & 0o777).toBe(0o755);
      expect((await stat(join(target, 'a/one.txt'))).mode & 0o777).toBe(0o644);
      expect(await readlink(join(target, 'a/link'))).toBe('one.txt');
      expect((await lstat(join(target, 'hollow/inner'))).isDirectory()).toBe(true);
      expect((await store.putBundle(target)).hash).toBe(ref.hash);
    });

    it('gives the same content the same hash, wherever it lies and whenever it was written', async () => {
      const one = await store.putBundle(await writeTree({ b: '2', 'a/c': '1' }));
      const two = await store.putBundle(await writeTree({ 'a/c': '1', b: '2' }));
      const three = await store.putBundle(await writeTree({ 'a/c': '1', b: '3' }));
      expect(two).toEqual(one);
      expect(three.hash).not.toBe(one.hash);
      expect((await store.readManifest(one.hash)).entries.map((entry) => entry.path)).toEqual(['a/c', 'b']);
    });

    it('puts an empty folder as an empty bundle', async () => {
      const ref = await store.putBundle(await freshFolder());
      expect(ref).toMatchObject({ files: 0, size: 0 });
      const target = join(await freshFolder(), 'out');
      await store.materialise(ref.hash, target);
      expect(await readdir(target)).toEqual([]);
    });

    it('sees a changed file although its size is the same', async () => {
      const root = await writeTree({ f: 'aaaa' });
      const before = await store.putBundle(root);
      await writeFile(join(root, 'f'), 'bbbb');
      const after = await store.putBundle(root);
      expect(after.hash).not.toBe(before.hash);
    });

    it('refuses what cannot be a bundle, each with its reason', async () => {
      const reasonOf = async (root: string, options = {}): Promise<unknown> => {
        const failure = await store.putBundle(root, options).catch((error: unknown) => error);
        expect(failure).toBeInstanceOf(BundleRefusedError);
        return failure instanceof BundleRefusedError ? failure.reason : failure;
      };
      expect(await reasonOf(await writeTree({ 'a\\b': '' }))).toBe('backslash');
      expect(await reasonOf(await writeTree({ 'x/README': '', 'x/readme': '' }))).toBe('case-collision');
      expect(await reasonOf(await writeTree({ 'Dir/a': '', 'dir/b': '' }))).toBe('case-collision');
      expect(await reasonOf(await writeTree({ '\u00e9': '1', 'e\u0301': '2' }))).toBe('case-collision');
      expect(await reasonOf(await writeTree({ 'a/__proto__/b': '' }))).toBe('proto-segment');
      expect(await reasonOf(await writeTree({ a: '12345' }), { maxBytes: 4 })).toBe('too-large');
      expect(await reasonOf(await writeTree({ a: '', b: '', c: '' }), { maxFiles: 2 })).toBe(
        'too-many-files',
      );
      expect(await reasonOf(join(await freshFolder(), 'absent'))).toBe('not-a-folder');
      const badName = await freshFolder();
      await writeFile(Buffer.concat([Buffer.from(`${badName}/`), Buffer.from([0x66, 0xff, 0xfe])]), '');
      expect(await reasonOf(badName)).toBe('invalid-utf8');
    });

    it('refuses links that leave, also by way of other links', async () => {
      const targets = ['/etc/passwd', '..', '../x', 'a/../../x', 'a/b/up/../x'];
      for (const target of targets) {
        const root = await writeTree({ 'a/b/file': '' });
        await symlink('../..', join(root, 'a/b/up'));
        await symlink(target, join(root, 'link'));
        await expect(store.putBundle(root), target).rejects.toMatchObject({
          reason: 'symlink-out',
          path: 'link',
        });
      }
    });

    it('refuses to materialise a manifest with the right hash and wrong paths', async () => {
      const file = (path: string) =>
        `{"digest":"${'0'.repeat(64)}","kind":"file","mode":"644","path":${JSON.stringify(path)},"size":0}`;
      const cases: [string, string][] = [
        ['../evil', 'dot-segment'],
        ['/evil', 'absolute-path'],
        ['a\\evil', 'backslash'],
        ['__proto__', 'proto-segment'],
        ['a//b', 'invalid-name'],
      ];
      for (const [path, reason] of cases) {
        const { digest } = await store.putBlob(Buffer.from(`{"bundle":1,"entries":[${file(path)}]}`));
        await expect(store.materialise(digest, join(work, 'never')), path).rejects.toMatchObject({ reason });
      }
      const through = '{"bundle":1,"entries":[{"kind":"link","path":"a","target":"b"},' + file('a/x') + ']}';
      const { digest } = await store.putBlob(Buffer.from(through));
      await expect(store.materialise(digest, join(work, 'never'))).rejects.toMatchObject({
        reason: 'path-conflict',
      });
      const plain = await store.putBlob(Buffer.from('not a manifest'));
      await expect(store.readManifest(plain.digest)).rejects.toMatchObject({ reason: 'malformed-manifest' });
    });

    it('leaves a target as it was when a blob is damaged or the target is occupied', async () => {
      const root = await writeTree({ a: 'fine', b: randomBytes(1_200_000) });
      const ref = await store.putBundle(root);
      const occupied = await writeTree({ mine: 'kept' });
      await expect(store.materialise(ref.hash, occupied)).rejects.toThrow(TargetOccupiedError);
      expect(await readdir(occupied)).toEqual(['mine']);
      const entry = (await store.readManifest(ref.hash)).entries.find((found) => found.path === 'b');
      if (entry?.kind !== 'file') throw new Error('manifest does not list b');
      await fixture.damage(store, entry.digest);
      const parent = await freshFolder();
      await expect(store.materialise(ref.hash, join(parent, 'out'))).rejects.toThrow(StoreCorruptError);
      expect(await readdir(parent)).toEqual([]);
    });

    it('collects what no root reaches, keeps what is young, and names missing roots', async () => {
      const kept = await store.putBundle(await writeTree({ shared: 'shared', only: 'kept' }));
      const dropped = await store.putBundle(await writeTree({ shared: 'shared', only: 'dropped' }));
      const blob = await store.putBlob(Buffer.from('a root of its own'));
      const stray = await store.putBlob(Buffer.from('stray'));
      const absent = 'f'.repeat(64);
      const young = await store.gc([kept.hash], { graceMs: 600_000 });
      expect(young).toMatchObject({ removedBlobs: 0, missing: [] });
      await fixture.age(store, 3_600_000);
      const report = await store.gc([kept.hash, blob.digest, absent], { graceMs: 600_000 });
      expect(report).toMatchObject({ removedBlobs: 3, keptBlobs: 4, youngBlobs: 0, missing: [absent] });
      expect(await store.hasBlob(stray.digest)).toBe(false);
      expect(await store.hasBlob(dropped.hash)).toBe(false);
      expect((await store.getBlob(blob.digest)).toString()).toBe('a root of its own');
      await store.materialise(kept.hash, join(await freshFolder(), 'out'));
    });

    it('does not collect old content that was just put again', async () => {
      const root = await writeTree({ f: 'wanted again' });
      const ref = await store.putBundle(root);
      const blob = await store.putBlob(Buffer.from('wanted too'));
      await fixture.age(store, 3_600_000);
      await store.putBundle(root);
      await store.putBlob(Buffer.from('wanted too'));
      await store.gc([], { graceMs: 600_000 });
      expect(await store.hasBlob(blob.digest)).toBe(true);
      await store.materialise(ref.hash, join(await freshFolder(), 'out'));
    });

    it('collects nothing while nobody knows what a damaged root reaches, and names it', async () => {
      const ref = await store.putBundle(await writeTree({ f: 'reached' }));
      await fixture.age(store, 3_600_000);
      await fixture.damage(store, ref.hash);
      expect(await store.gc([ref.hash], { graceMs: 0 })).toMatchObject({
        removedBlobs: 0,
        problems: [{ digest: ref.hash, kind: 'damaged' }],
      });
    });
  });
}

async function listAll(store: Store): Promise<string[]> {
  const digests: string[] = [];
  for await (const digest of store.listBlobs()) digests.push(digest);
  return digests;
}
