import { createRedactor } from '@caisson/ground';
import { expect, test } from 'vitest';
import { redactForeign, redactRecord } from './redact-value.ts';

const redactor = createRedactor([
  { name: 'A', value: 'hunter2-and-more' },
  { name: 'B', value: 'finished' },
]);

test('a secret is taken out of every text of a record, at any depth', () => {
  const line = {
    denial: { what: 'echo hunter2-and-more', rules: ['x', 'hunter2-and-more'] },
    count: 3,
    none: null,
  };
  expect(redactRecord(redactor, line)).toEqual({
    denial: { what: 'echo [redacted:A]', rules: ['x', '[redacted:A]'] },
    count: 3,
    none: null,
  });
});

test('a secret that is a word of the protocol does not break the line', () => {
  const line = { kind: 'dispatch.finished', status: 'finished', finished: 1, message: 'it finished' };
  expect(redactRecord(redactor, line)).toEqual({ ...line, message: 'it [redacted:B]' });
});

test('in what an agent made up, names of fields are redacted as well', () => {
  expect(redactForeign(redactor, { 'hunter2-and-more': { kind: 'finished' } })).toEqual({
    '[redacted:A]': { kind: '[redacted:B]' },
  });
});
