import { expect, test } from 'vitest';
import { describeThrown } from './describe-thrown.ts';

test('a stack has the frames of the user alone', () => {
  const error = new Error('no probe');
  error.stack = [
    'Error: no probe',
    '    at compute (file:///project/senses/a.ts:2:48)',
    `    at run (${new URL('describe-thrown.ts', import.meta.url).href}:3316:37)`,
    '    at process.processTicksAndRejections (node:internal/process/task_queues:105:5)',
  ].join('\n');
  expect(describeThrown(error)).toBe('Error: no probe\n    at compute (file:///project/senses/a.ts:2:48)');
});

test('what is no error is shown as text', () => {
  expect(describeThrown('at node:internal/x')).toBe('at node:internal/x');
});
