import { createManualClock } from '@caisson/ground';
import { expect, test } from 'vitest';
import type { Engine } from '../engine.ts';
import { createMemoryLedger } from '../ledger/index.ts';
import { createKeptAnswers } from './kept-answers.ts';

const HOUR_MS = 3_600_000;

function open() {
  const ledger = createMemoryLedger();
  const clock = createManualClock();
  const openHost = (hostId: string) => createKeptAnswers({ ledger, clock, hostId } as unknown as Engine);
  return { clock, openHost, count: () => ledger.kv.list('answers').length };
}

const coded = (code: string) => expect.objectContaining({ code }) as Error;

test('an answer is given again for a day, also by the next host', async () => {
  const { clock, openHost } = open();
  const first = openHost('host_1');
  expect(await first.begin('me:k', 'x')).toBe(null);
  await expect(first.begin('me:k', 'x')).rejects.toThrow(coded('IDEMPOTENCY_UNDER_WAY'));
  await first.finish('me:k', { id: 7 }, false);
  clock.advance(23 * HOUR_MS);
  expect(await openHost('host_2').begin('me:k', 'x')).toEqual({ answer: { id: 7 } });
  await expect(first.begin('me:k', 'y')).rejects.toThrow(coded('IDEMPOTENCY_KEY_TAKEN'));
  expect(await first.begin('you:k', 'y')).toBe(null);
  clock.advance(2 * HOUR_MS);
  expect(await first.begin('me:k', 'y')).toBe(null);
});

test('what a dead host had begun is not done again by itself, and what failed may be', async () => {
  const { openHost } = open();
  expect(await openHost('host_1').begin('k', 'x')).toBe(null);
  const next = openHost('host_2');
  await expect(next.begin('k', 'x')).rejects.toThrow(coded('IDEMPOTENCY_UNKNOWN'));
  await next.drop('k');
  expect(await next.begin('k', 'x')).toBe(null);
});

test('a secret and what is too long are not kept, and the oldest of too many go', async () => {
  const { clock, openHost, count } = open();
  const kept = openHost('host_1');
  for (const [key, answer, isSecret] of [
    ['secret', { token: 'cai_x' }, true],
    ['long', 'x'.repeat(100_000), false],
  ] as const) {
    await kept.begin(key, 'x');
    await kept.finish(key, answer, isSecret);
    await expect(kept.begin(key, 'x')).rejects.toThrow(coded('IDEMPOTENCY_ANSWER_GONE'));
  }
  for (let index = 0; index < 1100; index += 1) {
    clock.advance(1);
    await kept.begin(`k${index}`, 'x');
  }
  clock.advance(HOUR_MS);
  await kept.begin('last', 'x');
  expect(count()).toBe(1001);
  expect(await kept.begin('secret', 'x')).toBe(null);
});

test('one owner does not push out the answers of another', async () => {
  const { clock, openHost } = open();
  const kept = openHost('host_1');
  await kept.begin('other:mine', 'x');
  await kept.finish('other:mine', 7, false);
  for (let count = 0; count < 1500; count += 1) {
    clock.advance(1);
    await kept.begin(`reader:${count}`, 'x');
    await kept.finish(`reader:${count}`, null, false);
  }
  clock.advance(61_000);
  await kept.begin('reader:last', 'x');
  expect(await kept.begin('other:mine', 'x')).toEqual({ answer: 7 });
  expect(await kept.begin('reader:0', 'x')).toBe(null);
});
