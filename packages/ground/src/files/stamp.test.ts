import { expect, test } from 'vitest';
import { createStamp, isSignedWith } from './stamp.ts';

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

test('a signature is also checked without the module that made it', () => {
  const signature = stamp.sign('plan', 'text');
  const isSigned = (secret: string, purpose: string, text: string, given = signature): boolean =>
    isSignedWith(Buffer.from(secret), { purpose, text }, given);
  expect(isSigned('a secret', 'plan', 'text')).toBe(true);
  expect(isSigned('another', 'plan', 'text')).toBe(false);
  expect(isSigned('a secret', 'plan', 'texts')).toBe(false);
  expect(isSigned('a secret', 'plant', 'ext')).toBe(false);
  for (const given of ['', signature.slice(1), `${signature}0`, signature.replace(/.$/, 'x')])
    expect(isSigned('a secret', 'plan', 'text', given)).toBe(false);
});
