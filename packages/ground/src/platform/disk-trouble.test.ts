import { expect, it } from 'vitest';
import { CaissonError } from '@caisson/protocol';
import { explainError, findDiskTrouble } from './disk-trouble.ts';

class SomeError extends CaissonError {
  readonly code = 'SOME';
}

const errno = (code: string, path?: string): Error =>
  Object.assign(new Error(`${code}: words of the system`), { code, ...(path === undefined ? {} : { path }) });

it.each([
  ['ENOSPC', 'No space left on device', 'is full'],
  ['EDQUOT', 'Disk quota exceeded', 'gives this user no more space'],
  ['EROFS', 'Read-only file system', 'is read-only'],
])('%s is found in an error and in words, and reported with the path and a remedy', (code, words, state) => {
  const what = `the disk that holds /srv ${state}`;
  expect(findDiskTrouble(`fatal: unable to write: ${words}`, '/srv')?.what).toBe(what);
  const reported = explainError(errno(code, '/srv'));
  expect(reported.startsWith(`${what}: ${code}: words of the system. `)).toBe(true);
  const wrapped = new SomeError('it failed', { cause: errno(code, '/srv'), remedy: 'Look elsewhere.' });
  expect(explainError(wrapped)).toBe(reported.replace(`${code}: words of the system`, 'it failed'));
});

it('any other error keeps its words, and its remedy once', () => {
  expect(findDiskTrouble('fatal: not a repository')).toBeNull();
  expect(explainError(errno('EACCES', '/srv'))).toBe('EACCES: words of the system');
  expect(explainError(new SomeError('It failed. Try again.', { remedy: 'Try again.' }))).toBe(
    'It failed. Try again.',
  );
  expect(explainError(new SomeError('It failed.', { remedy: 'Try again.' }))).toBe('It failed. Try again.');
});
