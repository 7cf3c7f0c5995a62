import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { StoreAtHand } from './store-at-hand.ts';

export function describeCollecting(at: StoreAtHand): void {
  describe('collecting garbage', () => {
    it('collects what no root reaches, keeps what is young, and names missing roots', async () => {
      const kept = await at.store.putBundle(await at.writeTree({ shared: 'shared', only: 'kept' }));
      const dropped = await at.store.putBundle(await at.writeTree({ shared: 'shared', only: 'dropped' }));
      const blob = await at.store.putBlob(Buffer.from('a root of its own'));
      const stray = await at.store.putBlob(Buffer.from('stray'));
      const absent = 'f'.repeat(64);
      const young = await at.store.gc([kept.hash], { graceMs: 600_000 });
      expect(young).toMatchObject({ removedBlobs: 0, missing: [] });
      await at.fixture.age(at.store, 3_600_000);
      const report = await at.store.gc([kept.hash, blob.digest, absent], { graceMs: 600_000 });
      expect(report).toMatchObject({ removedBlobs: 3, keptBlobs: 4, youngBlobs: 0, missing: [absent] });
      expect(await at.store.hasBlob(stray.digest)).toBe(false);
      expect(await at.store.hasBlob(dropped.hash)).toBe(false);
      expect((await at.store.getBlob(blob.digest)).toString()).toBe('a root of its own');
      await at.store.materialise(kept.hash, join(await at.freshFolder(), 'out'));
    });

    it('does not collect old content that was just put again', async () => {
      const root = await at.writeTree({ f: 'wanted again' });
      const ref = await at.store.putBundle(root);
      const blob = await at.store.putBlob(Buffer.from('wanted too'));
      await at.fixture.age(at.store, 3_600_000);
      await at.store.putBundle(root);
      await at.store.putBlob(Buffer.from('wanted too'));
      await at.store.gc([], { graceMs: 600_000 });
      expect(await at.store.hasBlob(blob.digest)).toBe(true);
      await at.store.materialise(ref.hash, join(await at.freshFolder(), 'out'));
    });

    it('collects nothing while it is unknown what a damaged root reaches, and names it', async () => {
      const ref = await at.store.putBundle(await at.writeTree({ f: 'reached' }));
      await at.fixture.age(at.store, 3_600_000);
      await at.fixture.damage(at.store, ref.hash);
      expect(await at.store.gc([ref.hash], { graceMs: 0 })).toMatchObject({
        removedBlobs: 0,
        problems: [{ digest: ref.hash, kind: 'damaged' }],
      });
    });
  });
}
