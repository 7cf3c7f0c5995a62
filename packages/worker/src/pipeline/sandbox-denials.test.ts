import { expect, test } from 'vitest';
import type { AttemptContext } from '../attempt/attempt-context.ts';
import { reportSandboxDenials } from './sandbox-denials.ts';

function contextOf(sandbox: 'bwrap' | 'none'): AttemptContext {
  const writer = { write: () => undefined };
  return { job: { grant: { sandbox } }, gathered: { denials: [] }, writer } as unknown as AttemptContext;
}

function findDenials(stderr: string, code: number | null = 1, sandbox: 'bwrap' | 'none' = 'bwrap'): string[] {
  const context = contextOf(sandbox);
  reportSandboxDenials(context, { code, signal: null }, stderr);
  return context.gathered.denials.map(({ rule, what }) => `${rule ?? ''}: ${what}`);
}

test('a program that the filter ended is reported', () => {
  expect(findDenials('', 159)).toEqual([expect.stringMatching(/^seccomp: the program ended like one that/)]); // it may exit so by itself
});

test.each([
  'sh: 1: cannot create y: Read-only file system',
  "OSError: [Errno 30] Read-only file system: '/etc/x'",
  "Error: EROFS: read-only file system, open '/etc/x'",
])('the words of many programs are understood: %s', (line) => {
  expect(findDenials(`one\n${line}\ntwo\n${line}\n`)).toEqual([
    `read-only: the program reports a refused write: ${line}`,
  ]);
});

test('ordinary failures and runs without a sandbox report nothing, and a flood is cut', () => {
  expect(findDenials('cat: x: No such file or directory\n', 1)).toEqual([]);
  expect(findDenials('x: Read-only file system\n', 159, 'none')).toEqual([]);
  const flood = Array.from({ length: 100 }, (_, index) => `${index}: Read-only file system`).join('\n');
  expect(findDenials(flood)).toHaveLength(8);
});
