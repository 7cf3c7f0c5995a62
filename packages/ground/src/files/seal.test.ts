import { expect, test } from 'vitest';
import { createSeal } from './seal.ts';

const seal = createSeal(Buffer.from('a secret'));

test('what was wrapped comes back for the same purpose and secret only', () => {
  const wrapped = seal.wrap('plan:x', 'first\nsecond');
  expect(seal.unwrap('plan:x', wrapped)).toBe('first\nsecond');
  expect(seal.unwrap('plan:y', wrapped)).toBe(null);
  expect(createSeal(Buffer.from('another')).unwrap('plan:x', wrapped)).toBe(null);
});

test('a change of one letter, a missing signature and the empty text are refused', () => {
  const wrapped = seal.wrap('plan', '{"a":1}');
  for (const bad of [wrapped.replace('1}', '2}'), '{"a":1}', '\n{"a":1}', '', `${wrapped} `])
    expect(seal.unwrap('plan', bad)).toBe(null);
});

test('purpose and text cannot be shifted into each other', () => {
  expect(seal.sign('ab', 'c')).not.toBe(seal.sign('a', 'bc'));
});
