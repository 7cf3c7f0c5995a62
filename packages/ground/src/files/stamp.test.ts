import { expect, test } from 'vitest';
import { createStamp } from './stamp.ts';

const stamp = createStamp(Buffer.from('a secret'));

test('what was wrapped comes back for the same purpose and secret only', () => {
  const wrapped = stamp.wrap('plan:x', 'first\nsecond');
  expect(stamp.unwrap('plan:x', wrapped)).toBe('first\nsecond');
  expect(stamp.unwrap('plan:y', wrapped)).toBe(null);
  expect(createStamp(Buffer.from('another')).unwrap('plan:x', wrapped)).toBe(null);
});

test('a change of one letter, a missing signature and the empty text are refused', () => {
  const wrapped = stamp.wrap('plan', '{"a":1}');
  for (const bad of [wrapped.replace('1}', '2}'), '{"a":1}', '\n{"a":1}', '', `${wrapped} `])
    expect(stamp.unwrap('plan', bad)).toBe(null);
});

test('purpose and text cannot be shifted into each other', () => {
  expect(stamp.sign('ab', 'c')).not.toBe(stamp.sign('a', 'bc'));
});
