import { expect, test } from 'vitest';
import { answerOnce } from './answer-once.ts';
import type { ApiHost, Entrance } from './contract.ts';
import type { Call } from './read-input.ts';

const REQUEST = {
  req: { method: 'POST', header: () => 'key' },
  env: {},
  header: () => undefined,
} as unknown as Call;

/** Keeps answers; the first `failures` of them cannot be written. */
function openKept(failures: number, drops = true) {
  const warnings: string[] = [];
  const taken = new Map<string, unknown>();
  const kept: ApiHost['kept'] = {
    async begin(key) {
      if (taken.has(key)) return { answer: taken.get(key) };
      taken.set(key, 'under way');
      return null;
    },
    async finish(key, answer) {
      if (failures-- > 0) throw new Error('the disk is full');
      taken.set(key, answer);
    },
    async drop(key) {
      if (!drops) throw new Error('the disk is full');
      taken.delete(key);
    },
  };
  const ask = (work: () => Promise<unknown>) =>
    answerOnce(
      REQUEST,
      { host: { kept, warn: (message) => void warnings.push(message) } as ApiHost, entrance: {} as Entrance },
      'send',
      {},
      work,
    );
  return { ask, taken, warnings };
}

test('what was done stays done where its answer cannot be kept', async () => {
  const { ask, taken } = openKept(1);
  let done = 0;
  const work = () => Promise.resolve((done += 1));
  await expect(ask(work)).rejects.toThrow('the disk is full');
  await ask(work);
  expect([done, taken.get('key')]).toEqual([1, 'under way']);
});

test('what failed may be asked for again with its key', async () => {
  const { ask } = openKept(0);
  await expect(ask(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await ask(() => Promise.resolve('yes'))).toBe('yes');
});

test('an error is the answer also where its key cannot be given back', async () => {
  const { ask, warnings } = openKept(0, false);
  await expect(ask(() => Promise.reject(new Error('no such run')))).rejects.toThrow('no such run');
  expect(warnings).toEqual(['the idempotency key of a request that failed stays taken: the disk is full']);
});
