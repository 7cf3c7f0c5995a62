import { expect, test } from 'vitest';
import { describeDriver } from '../driver-conformance.ts';
import { codex } from './driver.ts';

describeDriver(codex, { refusal: 'empty-answer' });

test.each([
  'We’re currently experiencing high demand, which may cause temporary errors.',
  'stream disconnected before completion: UTF8 error: invalid utf-8 sequence of 1 bytes from index 0',
])('an error of the server is one, whatever it is called: %s', (message) => {
  const stream = codex.createStream();
  stream.line(JSON.stringify({ type: 'turn.failed', error: { message } }));
  expect(stream.end({ code: 1, signal: null, stderrTail: '' })).toMatchObject({ cause: 'api-error' });
});

test('half an answer is none', () => {
  const stream = codex.createStream();
  const message = 'Incomplete response returned, reason: max_output_tokens';
  stream.line(JSON.stringify({ type: 'turn.failed', error: { message } }));
  expect(stream.end({ code: 1, signal: null, stderrTail: '' })).toMatchObject({ cause: 'max-tokens' });
});
