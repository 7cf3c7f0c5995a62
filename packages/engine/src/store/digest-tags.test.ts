import { hash } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { DigestTags } from './digest-tags.ts';
import { InvalidDigestError } from './errors.ts';

const digestOf = (number: number): string => hash('sha256', String(number));

it('has the bits that were added to each of many digests, and none for others', () => {
  const tags = new DigestTags();
  for (let number = 0; number < 50_000; number += 1) tags.add(digestOf(number), 1 + (number % 2));
  expect(tags.add(digestOf(7), 5)).toBe(2);
  expect(tags.size).toBe(50_000);
  const wrong = Array.from({ length: 60_000 }, (_, number) => {
    const expected = number >= 50_000 ? 0 : number === 7 ? 7 : 1 + (number % 2);
    return tags.of(digestOf(number)) === expected ? [] : [number];
  });
  expect(wrong.flat()).toEqual([]);
  expect([tags.of('0'), tags.of('latest')]).toEqual([0, 0]);
  expect(() => tags.add('no digest', 1)).toThrow(InvalidDigestError);
});

it('two digests that begin with the same 64 bits are one', () => {
  const tags = new DigestTags();
  const beginning = '0123456789abcdef';
  tags.add(beginning.padEnd(64, '0'), 1);
  expect(tags.of(beginning.padEnd(64, '1'))).toBe(1);
  expect(tags.of(beginning.replace('f', 'e').padEnd(64, '0'))).toBe(0);
});

it('a digest takes less than 20 bytes', async () => {
  const before = measureBuffers();
  const tags = new DigestTags();
  for (let number = 0; number < 200_000; number += 1) tags.add(digestOf(number), 1);
  // What is collected is given back a moment later, by another thread.
  await expect.poll(() => (measureBuffers() - before) / tags.size, { timeout: 10_000 }).toBeLessThan(20);
  expect(tags.size).toBe(200_000);
});

const added = fc.array(fc.tuple(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 1, max: 255 })), {
  maxLength: 1000,
});
it('answers as a map of digests to bits does', () => {
  fc.assert(
    fc.property(added, (given) => {
      const [tags, map] = [new DigestTags(), new Map<string, number>()];
      for (const [number, bits] of given) {
        const digest = digestOf(number);
        const before = map.get(digest) ?? 0;
        expect(tags.add(digest, bits)).toBe(before);
        map.set(digest, before | bits);
      }
      expect(tags.size).toBe(map.size);
      for (const [digest, bits] of map) expect(tags.of(digest)).toBe(bits);
    }),
  );
});

/** Without what only waits to be collected, such as the buffers that a set has outgrown. */
function measureBuffers(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().arrayBuffers;
}
