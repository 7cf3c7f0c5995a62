import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { AdmittedRun, DispatchRequest } from './contract.ts';
import { findBadRequest, findForeignState, findNoWorkTree } from './request-checks.ts';

const candidate = (request: DispatchRequest, more: Partial<AdmittedRun> = {}): AdmittedRun =>
  ({ description: 'x', priority: request.priority ?? 5, request, ...more }) as AdmittedRun;

function scratchFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-request-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

describe('a request', () => {
  test('that says nothing unusual passes', () => {
    const request: DispatchRequest = {
      priority: 1,
      env: { A_1: 'x' },
      secrets: { TOKEN: 'env:TOKEN' },
      branch: 'feature/x.y-1',
      idempotencyKey: 'k',
      scope: ['src/**'],
    };
    expect(findBadRequest(candidate(request))).toBe(null);
  });

  test.each<[string, DispatchRequest, RegExp]>([
    ['a priority out of range', { priority: 99 }, /priority 99 is not a whole number from 1 to 10/],
    ['a priority that is no whole number', { priority: 1.5 }, /priority 1\.5/],
    ['a variable with a space', { env: { 'A B': '1' } }, /"A B" is no name for an environment variable/],
    ['a secret with an empty name', { secrets: { '': 'env:X' } }, /"" is no name/],
    ['an empty idempotency key', { idempotencyKey: '' }, /idempotency key is empty/],
    ['an overlong acceptance', { acceptance: 'x'.repeat(70_000) }, /acceptance/],
    ['too many patterns', { scope: Array.from({ length: 300 }, () => 'x') }, /scope/],
  ])('with %s is refused as usage', (_what, request, detail) => {
    expect(findBadRequest(candidate(request))).toMatchObject({
      kind: 'usage',
      detail: expect.stringMatching(detail) as string,
    });
  });

  test.each([
    '',
    '@',
    '-x',
    'a..b',
    'a b',
    'a~1',
    'a:b',
    'a//b',
    '/a',
    'a/',
    'a.lock',
    '.a',
    'a.',
    'a@{1}',
    'a\\b',
  ])('with the branch name "%s" is refused as git would refuse it', (branch) => {
    expect(findBadRequest(candidate({ branch }))).toMatchObject({ kind: 'usage' });
  });

  test('with a task that no job can carry is refused', () => {
    const refusal = findBadRequest(candidate({}, { description: 'x'.repeat(1_048_577) }));
    expect(refusal?.detail).toBe('the task is 1048577 characters long, and at most 1048576 fit');
  });
});

test('a bare repository is no place to work in, and a checkout is', () => {
  const projectRoot = scratchFolder();
  expect(findNoWorkTree({ workspaceKind: 'in-place' }, { projectRoot })).toBe(null);
  writeFileSync(join(projectRoot, 'HEAD'), 'ref: refs/heads/main\n');
  mkdirSync(join(projectRoot, 'objects'));
  mkdirSync(join(projectRoot, 'refs'));
  expect(findNoWorkTree({ workspaceKind: 'in-place' }, { projectRoot })?.detail).toContain(
    'bare git repository',
  );
  expect(findNoWorkTree({ workspaceKind: 'empty' }, { projectRoot })).toBe(null);
  mkdirSync(join(projectRoot, '.git'));
  expect(findNoWorkTree({ workspaceKind: 'worktree' }, { projectRoot })).toBe(null);
});

test('the state folder of another user is refused by name', () => {
  const stateDir = scratchFolder();
  const own = process.getuid?.() ?? 0;
  expect(findForeignState(stateDir, own)).toBe(null);
  expect(findForeignState(stateDir, own + 1)).toMatchObject({
    kind: 'unavailable',
    detail: `the state folder ${stateDir} belongs to user ${own}, and this is user ${own + 1}`,
  });
  expect(findForeignState(join(stateDir, 'absent'), own + 1)).toBe(null);
});
