import { randomBytes } from 'node:crypto';
import { chmod, lstat, mkdir, readFile, readdir, readlink, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { StoreCorruptError, TargetOccupiedError } from '../errors.ts';
import type { StoreAtHand } from './store-at-hand.ts';

export function describeBundles(at: StoreAtHand): void {
  describe('bundles', () => {
    it('writes a bundle back as it was: content, executable bit, links, empty folders', async () => {
      const root = await at.writeTree({
        'a/one.txt': 'one',
        'a/b/two.bin': randomBytes(2_000_000),
        'run.sh': '#!/bin/sh\n',
        'ü/ñ': 'x',
      });
      await chmod(join(root, 'run.sh'), 0o755);
      await symlink('one.txt', join(root, 'a/link'));
      await symlink('../run.sh', join(root, 'a/up'));
      await mkdir(join(root, 'hollow/inner'), { recursive: true });
      const ref = await at.store.putBundle(root);
      expect(ref).toMatchObject({ files: 6, size: 3 + 2_000_000 + 10 + 1 });
      const target = join(await at.freshFolder(), 'out');
      expect(await at.store.materialise(ref.hash, target)).toEqual(ref);
      expect(await readFile(join(target, 'a/one.txt'), 'utf8')).toBe('one');
      expect(
        (await readFile(join(target, 'a/b/two.bin'))).equals(await readFile(join(root, 'a/b/two.bin'))),
      ).toBe(true);
      expect((await stat(join(target, 'run.sh'))).mode & 0o777).toBe(0o755);
      expect((await stat(join(target, 'a/one.txt'))).mode & 0o777).toBe(0o644);
      expect(await readlink(join(target, 'a/link'))).toBe('one.txt');
      expect((await lstat(join(target, 'hollow/inner'))).isDirectory()).toBe(true);
      expect((await at.store.putBundle(target)).hash).toBe(ref.hash);
    });

    it('gives the same content the same hash, in any place and at any time', async () => {
      const one = await at.store.putBundle(await at.writeTree({ b: '2', 'a/c': '1' }));
      const two = await at.store.putBundle(await at.writeTree({ 'a/c': '1', b: '2' }));
      const three = await at.store.putBundle(await at.writeTree({ 'a/c': '1', b: '3' }));
      expect(two).toEqual(one);
      expect(three.hash).not.toBe(one.hash);
      expect((await at.store.readManifest(one.hash)).entries.map((entry) => entry.path)).toEqual([
        'a/c',
        'b',
      ]);
    });

    it('puts an empty folder as an empty bundle', async () => {
      const ref = await at.store.putBundle(await at.freshFolder());
      expect(ref).toMatchObject({ files: 0, size: 0 });
      const target = join(await at.freshFolder(), 'out');
      await at.store.materialise(ref.hash, target);
      expect(await readdir(target)).toEqual([]);
    });
  });
}

export function describeTargets(at: StoreAtHand): void {
  describe('bundles and their targets', () => {
    it('sees a changed file although its size is the same', async () => {
      const root = await at.writeTree({ f: 'aaaa' });
      const before = await at.store.putBundle(root);
      await writeFile(join(root, 'f'), 'bbbb');
      const after = await at.store.putBundle(root);
      expect(after.hash).not.toBe(before.hash);
    });

    it('leaves a target as it was when a blob is damaged or the target is occupied', async () => {
      const root = await at.writeTree({ a: 'fine', b: randomBytes(1_200_000) });
      const ref = await at.store.putBundle(root);
      const occupied = await at.writeTree({ mine: 'kept' });
      await expect(at.store.materialise(ref.hash, occupied)).rejects.toThrow(TargetOccupiedError);
      expect(await readdir(occupied)).toEqual(['mine']);
      const entry = (await at.store.readManifest(ref.hash)).entries.find((found) => found.path === 'b');
      if (entry?.kind !== 'file') throw new Error('manifest does not list b');
      await at.fixture.damage(at.store, entry.digest);
      const parent = await at.freshFolder();
      await expect(at.store.materialise(ref.hash, join(parent, 'out'))).rejects.toThrow(StoreCorruptError);
      expect(await readdir(parent)).toEqual([]);
    });
  });
}
