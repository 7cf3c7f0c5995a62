import { hash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { DigestSet } from './digest-set.ts';
import { markRoots, type RootReader } from './mark-roots.ts';

const digestOf = (number: number): string => hash('sha256', String(number));
const STORED = [digestOf(1), digestOf(2)];

/** A store with two blobs, and what it was asked for by name. */
function openReader(): { reader: RootReader; asked: string[] } {
  const asked: string[] = [];
  const reader: RootReader = {
    list: () => STORED,
    findSize: async (digest) => {
      asked.push(digest);
      return STORED.includes(digest) ? 4 : null;
    },
    read: async () => Buffer.from('blob'),
  };
  return { reader, asked };
}

it('a root of which the store has nothing is looked for only if it is needed', async () => {
  const { reader, asked } = openReader();
  const lost = digestOf(99);
  const roots = new DigestSet(Array.from({ length: 100 }, (_, number) => digestOf(number)));
  const marked = await markRoots(reader, roots, { needed: new DigestSet([lost]) });
  expect(asked).toEqual([...STORED, lost]);
  expect(marked).toMatchObject({ missing: [lost], problems: [], isComplete: true });
  expect(STORED.every((digest) => marked.live.has(digest))).toBe(true);
});

it('the event loop turns while half a million roots are gone through', async () => {
  const { reader } = openReader();
  const roots = new DigestSet();
  for (let number = 0; number < 500_000; number += 1) roots.add(digestOf(number));
  let turns = 0;
  let isOver = false;
  const marking = markRoots(reader, roots, { needed: new DigestSet() }).finally(() => (isOver = true));
  for (; !isOver; turns += 1) await setImmediate();
  await marking;
  expect(turns).toBeGreaterThan(20);
}, 30_000);
