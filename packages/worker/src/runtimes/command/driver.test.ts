import { expect, test } from 'vitest';
import { command } from './driver.ts';
import type { DriverInput } from '../contract.ts';

const input: DriverInput = {
  bin: '',
  prompt: '',
  mode: 'auto-edit',
  settings: { argv: ['make', 'all'] },
  home: '/home/agent',
  workspace: '/workspace',
  workspaceTop: '/workspace',
  isRoot: false,
};

test('the command is exactly the argv that was given, with its stdin closed', () => {
  expect(command.command(input)).toEqual({
    argv: ['make', 'all'],
    env: {},
    stdin: null,
    files: [],
    masks: [],
  });
});

test('what was printed last is the reply, and exit code 0 is success even without output', () => {
  const stdoutTail = Array.from({ length: 1000 }, (_, index) => `line ${index}\n`).join('');
  const ending = command.createStream().end({ code: 0, signal: null, stdoutTail, stderrTail: '' });
  expect(ending.kind === 'answered' && ending.reply.endsWith('line 999')).toBe(true);
  expect(ending.kind === 'answered' && ending.reply.split('\n').length).toBe(200);
  expect(command.createStream().end({ code: 0, signal: null, stderrTail: '' })).toEqual({
    kind: 'answered',
    reply: '',
  });
});

test('a non-zero exit carries code and stderr', () => {
  expect(command.createStream().end({ code: 3, signal: null, stderrTail: 'no such target\n' })).toEqual({
    kind: 'failed',
    cause: 'exit-code',
    detail: 'the command exited with code 3: no such target',
  });
});
