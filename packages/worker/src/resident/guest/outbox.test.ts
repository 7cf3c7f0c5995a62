import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { GroupDatabase } from './group-database.ts';
import { createOutbox } from './outbox.ts';

it('what a sense emitted is listed in its order, as much as fits; the rest is there the next time', () => {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-outbox-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const database = new GroupDatabase(join(folder, 'group.db'));
  const [outbox, other] = ['sense', 'other'].map((sense) => createOutbox(database, sense));
  for (const computeId of ['z', 'a', 'm']) {
    database.beginCompute();
    outbox?.add({ computeId, origin: 'sealed', signals: [{ name: 'x', payload: 'ü'.repeat(500) }] });
    other?.add({ computeId: `other ${computeId}`, origin: '', signals: [] });
    database.commitCompute();
  }
  const list = (maxBytes?: number) => outbox?.list(maxBytes).map(({ computeId }) => computeId);
  expect(list()).toEqual(['z', 'a', 'm']);
  expect(list(2500)).toEqual(['z', 'a']);
  expect(outbox?.remove(['z', 'a'])).toBe(true);
  expect(list(2500)).toEqual(['m']);
  expect(other?.list()).toHaveLength(3);
});
