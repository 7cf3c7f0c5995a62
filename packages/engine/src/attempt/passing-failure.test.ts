import { expect, test } from 'vitest';
import { GitError } from '@caisson/ground';
import { isPassing } from './passing-failure.ts';

test('a killed git, for example by the kernel without memory, may work the next time', () => {
  expect(isPassing(new GitError('git add died of SIGKILL: no message', ''))).toBe(true);
  const cause = new GitError('git update-ref died of SIGKILL: no message', '');
  expect(isPassing(new Error('the work could not be saved', { cause }))).toBe(true);
});

test('a git that found the lock of another one may work the next time', () => {
  const said =
    "fatal: cannot lock ref 'refs/heads/work': Unable to create '/p/.git/refs/heads/work.lock': File exists.";
  expect(isPassing(new Error(`Branch work could not be written: ${said}`))).toBe(true);
});

test('a git that crashes or refuses does the same the next time', () => {
  expect(isPassing(new GitError('git add died of SIGSEGV: no message', ''))).toBe(false);
  expect(isPassing(new GitError('git add exited with 128: fatal: not a git repository', ''))).toBe(false);
});
