import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { BundleRefusedError } from '../errors.ts';
import type { StoreAtHand } from './store-at-hand.ts';

export function describeRefusals(at: StoreAtHand): void {
  describe('refusals', () => {
    it('refuses what cannot be a bundle, each with its reason', async () => {
      const reasonOf = async (root: string, options = {}): Promise<unknown> => {
        const failure = await at.store.putBundle(root, options).catch((error: unknown) => error);
        expect(failure).toBeInstanceOf(BundleRefusedError);
        return failure instanceof BundleRefusedError ? failure.reason : failure;
      };
      expect(await reasonOf(await at.writeTree({ 'a\\b': '' }))).toBe('backslash');
      expect(await reasonOf(await at.writeTree({ 'x/README': '', 'x/readme': '' }))).toBe('case-collision');
      expect(await reasonOf(await at.writeTree({ 'Dir/a': '', 'dir/b': '' }))).toBe('case-collision');
      expect(await reasonOf(await at.writeTree({ '\u00e9': '1', 'e\u0301': '2' }))).toBe('case-collision');
      expect(await reasonOf(await at.writeTree({ 'a/__proto__/b': '' }))).toBe('proto-segment');
      expect(await reasonOf(await at.writeTree({ a: '12345' }), { maxBytes: 4 })).toBe('too-large');
      expect(await reasonOf(await at.writeTree({ a: '', b: '', c: '' }), { maxFiles: 2 })).toBe(
        'too-many-files',
      );
      expect(await reasonOf(join(await at.freshFolder(), 'absent'))).toBe('not-a-folder');
      const badName = await at.freshFolder();
      await writeFile(Buffer.concat([Buffer.from(`${badName}/`), Buffer.from([0x66, 0xff, 0xfe])]), '');
      expect(await reasonOf(badName)).toBe('invalid-utf8');
    });

    it('refuses links that leave, also by way of other links', async () => {
      const targets = ['/etc/passwd', '..', '../x', 'a/../../x', 'a/b/up/../x'];
      for (const target of targets) {
        const root = await at.writeTree({ 'a/b/file': '' });
        await symlink('../..', join(root, 'a/b/up'));
        await symlink(target, join(root, 'link'));
        await expect(at.store.putBundle(root), target).rejects.toMatchObject({
          reason: 'symlink-out',
          path: 'link',
        });
      }
    });
  });
}

export function describeBadManifests(at: StoreAtHand): void {
  describe('manifests that are refused', () => {
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
        const { digest } = await at.store.putBlob(Buffer.from(`{"bundle":1,"entries":[${file(path)}]}`));
        await expect(at.store.materialise(digest, join(at.work, 'never')), path).rejects.toMatchObject({
          reason,
        });
      }
      const through = '{"bundle":1,"entries":[{"kind":"link","path":"a","target":"b"},' + file('a/x') + ']}';
      const { digest } = await at.store.putBlob(Buffer.from(through));
      await expect(at.store.materialise(digest, join(at.work, 'never'))).rejects.toMatchObject({
        reason: 'path-conflict',
      });
      const plain = await at.store.putBlob(Buffer.from('not a manifest'));
      await expect(at.store.readManifest(plain.digest)).rejects.toMatchObject({
        reason: 'malformed-manifest',
      });
    });
  });
}
