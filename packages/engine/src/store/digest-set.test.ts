import { hash } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { DigestSet } from './digest-set.ts';
import { InvalidDigestError } from './errors.ts';

const digests = (count: number, from = 0): string[] =>
  Array.from({ length: count }, (_, index) => hash('sha256', String(from + index)));

it('has what was added, once, in its order, and nothing else', () => {
  const [given, others] = [digests(50_000), digests(1000, 50_000)];
  const set = new DigestSet([...given, ...given, '0'.repeat(64)]);
  expect(set.size).toBe(50_001);
  expect([...set]).toEqual([...given, '0'.repeat(64)]);
  expect(given.every((digest) => set.has(digest))).toBe(true);
  expect(others.some((digest) => set.has(digest))).toBe(false);
  expect(set.has('0')).toBe(false);
  expect([set.add(given[7] ?? ''), set.add(others[0] ?? '')]).toEqual([false, true]);
  expect(() => set.add('no digest')).toThrow(InvalidDigestError);
});

it('a digest takes less than 50 bytes', async () => {
  const before = measureBuffers();
  const set = new DigestSet();
  for (let index = 0; index < 200_000; index += 1) set.add(hash('sha256', String(index)));
  // What is collected is given back a moment later, by another thread.
  await expect.poll(() => (measureBuffers() - before) / set.size, { timeout: 10_000 }).toBeLessThan(50);
  expect(set.size).toBe(200_000);
});

/** Without what only waits to be collected, such as the buffers that a set has outgrown. */
function measureBuffers(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().arrayBuffers;
}
