import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import type { Store } from '../contract.ts';
import { BlobMissingError, InvalidDigestError, StoreCorruptError } from '../errors.ts';
import type { StoreAtHand } from './store-at-hand.ts';

export function describeBlobs(at: StoreAtHand): void {
  describe('blobs', () => {
    it('lists every blob once, those of bundles too, and nothing else', async () => {
      expect(await listAll(at.store)).toEqual([]);
      const { digest } = await at.store.putBlob(Buffer.from('alone'));
      await mkdir(join(at.work, 'listed'), { recursive: true });
      await writeFile(join(at.work, 'listed', 'a'), 'small');
      await writeFile(join(at.work, 'listed', 'b'), 'small');
      const { hash } = await at.store.putBundle(join(at.work, 'listed'));
      const small = createHash('sha256').update('small').digest('hex');
      expect((await listAll(at.store)).toSorted()).toEqual([digest, hash, small].toSorted());
    });

    it('returns the stored content, from bytes, a stream and a file, under the same digest', async () => {
      const bytes = randomBytes(300_000);
      const expected = { digest: createHash('sha256').update(bytes).digest('hex'), size: bytes.length };
      const file = join(await at.freshFolder(), 'blob');
      await writeFile(file, bytes);
      expect(await at.store.putBlob(bytes)).toEqual(expected);
      expect(await at.store.putBlob(Readable.from([bytes.subarray(0, 7), bytes.subarray(7)]))).toEqual(
        expected,
      );
      expect(await at.store.putBlob(file)).toEqual(expected);
      expect((await at.store.getBlob(expected.digest)).equals(bytes)).toBe(true);
      expect((await buffer(await at.store.openBlob(expected.digest))).equals(bytes)).toBe(true);
      expect(await at.store.hasBlob(expected.digest)).toBe(true);
    });

    it('reports a missing blob, and refuses what is not a digest', async () => {
      const absent = '0'.repeat(64);
      expect(await at.store.hasBlob(absent)).toBe(false);
      await expect(at.store.getBlob(absent)).rejects.toThrow(BlobMissingError);
      await expect(at.store.openBlob(absent)).rejects.toThrow(BlobMissingError);
      for (const bad of ['', '../../etc/passwd', 'A'.repeat(64), '0'.repeat(63)]) {
        await expect(at.store.getBlob(bad)).rejects.toThrow(InvalidDigestError);
        await expect(at.store.hasBlob(bad)).rejects.toThrow(InvalidDigestError);
      }
    });

    it('notices changed bytes on every way of reading, and names digest and place', async () => {
      const { digest } = await at.store.putBlob(Buffer.from('precious'));
      await at.fixture.damage(at.store, digest);
      const failure = await at.store.getBlob(digest).catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(StoreCorruptError);
      expect(failure).toMatchObject({ digest, message: expect.stringContaining(digest) });
      await expect(at.store.openBlob(digest).then(buffer)).rejects.toThrow(StoreCorruptError);
    });
  });
}

export function describeEmpty(at: StoreAtHand): void {
  describe('empty content', () => {
    it('is there before anyone puts it, and nothing is kept for it', async () => {
      const digest = createHash('sha256').digest('hex');
      const expectThere = async (): Promise<void> => {
        expect(await at.store.hasBlob(digest)).toBe(true);
        expect((await at.store.getBlob(digest)).length).toBe(0);
        expect((await buffer(await at.store.openBlob(digest))).length).toBe(0);
      };
      await expectThere();
      const file = join(await at.freshFolder(), 'empty');
      await writeFile(file, '');
      for (const source of [new Uint8Array(), Readable.from([]), file])
        expect(await at.store.putBlob(source)).toEqual({ digest, size: 0 });
      expect(await at.store.putBlobs([new Uint8Array()])).toEqual([{ digest, size: 0 }]);
      expect(await listAll(at.store)).toEqual([]);
      expect(await at.store.gc([digest], { graceMs: 0 })).toMatchObject({
        ...{ keptBlobs: 0, removedBlobs: 0, missing: [], problems: [] },
      });
      await expectThere();
    });

    it('takes nothing as files of a bundle, and they are written back', async () => {
      const { hash } = await at.store.putBundle(await at.writeTree({ a: '', b: '', c: 'full' }));
      expect((await listAll(at.store)).length).toBe(2);
      const target = join(await at.freshFolder(), 'out');
      await at.store.materialise(hash, target);
      expect(await readFile(join(target, 'b'), 'utf8')).toBe('');
    });
  });
}

export function describeTogether(at: StoreAtHand): void {
  describe('several blobs', () => {
    it('are stored together, also those that are there already', async () => {
      const contents = ['one', 'two', 'one', ''].map((text) => Buffer.from(text));
      await at.store.putBlob(Buffer.from('two'));
      const refs = await at.store.putBlobs(contents);
      for (const [index, { digest, size }] of refs.entries()) {
        expect(size).toBe(contents[index]?.length);
        expect(await at.store.getBlob(digest)).toEqual(contents[index]);
      }
      const listed = await listAll(at.store);
      for (const { digest, size } of refs)
        expect(listed.filter((each) => each === digest)).toHaveLength(size === 0 ? 0 : 1);
    });
  });
}

async function listAll(store: Store): Promise<string[]> {
  const digests: string[] = [];
  for await (const digest of store.listBlobs()) digests.push(digest);
  return digests;
}
