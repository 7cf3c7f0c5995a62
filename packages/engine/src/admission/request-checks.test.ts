import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Candidate, DispatchRequest } from './contract.ts';
import { findBadShape } from './request-shape.ts';
import { findBadRequest, findNoWorkTree, findHomeAsWorkspace } from './request-checks.ts';

const candidate = (request: DispatchRequest, more: Partial<Candidate> = {}): Candidate =>
  ({ description: 'x', priority: request.priority ?? 5, request, ...more }) as Candidate;

function scratchFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-request-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function roomsOf(projectRoot: string, home: string, top: string | null = null) {
  return { workspaces: { findTop: () => Promise.resolve(top) }, settings: { projectRoot, home } };
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
    [
      'a variable with a space',
      { env: { 'A B': '1' } },
      /"A B" is not a valid name for an environment variable/,
    ],
    ['a secret with an empty name', { secrets: { '': 'env:X' } }, /"" is not a valid name/],
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

test('a folder that holds the home is not worked in, in place and behind a wall that it would take down', async () => {
  const ask = (projectRoot: string, workspaceKind = 'in-place', sandbox = 'bwrap') =>
    findHomeAsWorkspace({ workspaceKind, grant: { sandbox } } as never, roomsOf(projectRoot, '/home/me'));
  for (const folder of ['/', '/home', '/home/me']) expect((await ask(folder))?.detail).toContain('/home/me');
  for (const folder of ['/home/me/work', '/home/you', '/srv', '/home/me2'])
    expect(await ask(folder)).toBe(null);
  expect(await ask('/home/me', 'empty')).toBe(null);
  expect(await ask('/home/me', 'worktree')).toBe(null);
  expect(await ask('/home/me', 'in-place', 'none')).toBe(null);
});

test('nor is one whose repository holds the home, or one that is the home by a link', async () => {
  const folder = scratchFolder();
  const [real, link] = [join(folder, 'real'), join(folder, 'link')];
  mkdirSync(join(real, 'work'), { recursive: true });
  symlinkSync(real, link);
  const ask = (projectRoot: string, home: string, top: string | null = null) =>
    findHomeAsWorkspace(
      { workspaceKind: 'in-place', grant: { sandbox: 'bwrap' } } as never,
      roomsOf(projectRoot, home, top),
    );
  expect((await ask(real, link))?.detail).toContain(`${real} contains the home folder ${link}`);
  expect((await ask(link, real))?.detail).toContain(`${link} contains the home folder ${real}`);
  expect((await ask(join(real, 'work'), link, real))?.detail).toContain(`${real} contains the home folder`);
  expect(await ask(join(real, 'work'), link)).toBe(null);
});

test('a bare repository is no place to work in, and a checkout is', () => {
  const projectRoot = scratchFolder();
  expect(findNoWorkTree({ workspaceKind: 'in-place', request: {} }, { projectRoot })).toBe(null);
  writeFileSync(join(projectRoot, 'HEAD'), 'ref: refs/heads/main\n');
  mkdirSync(join(projectRoot, 'objects'));
  mkdirSync(join(projectRoot, 'refs'));
  expect(findNoWorkTree({ workspaceKind: 'in-place', request: {} }, { projectRoot })?.detail).toContain(
    'bare git repository',
  );
  expect(findNoWorkTree({ workspaceKind: 'empty', request: {} }, { projectRoot })).toBe(null);
  mkdirSync(join(projectRoot, '.git'));
  expect(findNoWorkTree({ workspaceKind: 'worktree', request: {} }, { projectRoot })).toBe(null);
});

describe('a request of a program that no compiler looked at', () => {
  test.each<[Record<string, unknown>, string]>([
    [{ env: { A: 5 } }, '"env" must be an object whose values are texts without NUL'],
    [{ env: { A: 'a\0b' } }, '"env" must be an object whose values are texts without NUL'],
    [{ argv: ['echo', 5] }, '"argv" must be a list of texts without NUL'],
    [{ argv: 'echo' }, '"argv" must be a list of texts without NUL'],
    [
      { timeoutMs: '5m' },
      '"timeoutMs" must be a number of milliseconds above 0, and at most 31622400000 (366 days)',
    ],
    [{ timeoutMs: Number.NaN }, '"timeoutMs" must be'],
    [{ timeoutMs: Infinity }, '"timeoutMs" must be'],
    [{ stallTimeoutMs: -1 }, '"stallTimeoutMs" must be'],
    [{ retries: -1 }, '"retries" must be a whole number from 0 to 100'],
    [{ retries: Number.NaN }, '"retries" must be'],
    [{ limits: { memory: '4g' } }, '"limits" must be {memory?, cpus?, pids?, disk?, wall?}, numbers above 0'],
    [{ budget: { usd: -1 } }, '"budget" must be'],
    [{ network: { kind: 'hosts', hosts: ['no port'] } }, '"network" must be'],
    [{ network: { kind: 'some' } }, '"network" must be'],
    [{ sandbox: 'docker' }, '"sandbox" must be one of bwrap, none'],
    [{ workspace: 'here' }, '"workspace" must be one of worktree, in-place, empty'],
    [{ overflow: 'drop' }, '"overflow" must be one of queue, reject'],
    [{ task: 5 }, '"task" must be a text'],
    [{ branch: 5 }, '"branch" must be a text without NUL'],
    [{ secrets: { A: null } }, '"secrets" must be'],
    [{ callbacks: 'http://x' }, '"callbacks" must be a list of texts without NUL'],
    [{ answer: { question: 'q', answer: 5 } }, '"answer" must be a question with its answer'],
    [{ resume: { id: 1 } }, '"resume" must be a session that a result names'],
    [{ timeout: 5 }, 'a request has no "timeout"'],
    [JSON.parse('{"__proto__": {"task": "x"}}') as Record<string, unknown>, 'a request has no "__proto__"'],
  ])('such as %j gets the expected type', (request, detail) => {
    expect(findBadShape(request as DispatchRequest)).toMatchObject({
      kind: 'usage',
      detail: expect.stringContaining(detail) as string,
    });
  });

  test('that leaves members undefined, or gives every one of them rightly, passes', () => {
    expect(findBadShape(Object.assign({ task: 'x' }, { retries: undefined }))).toBe(null);
    expect(
      findBadShape({
        argv: ['true'],
        env: {},
        limits: { cpus: 0.5 },
        budget: { usd: 0 },
        network: { kind: 'hosts', hosts: ['a.example:443'] },
        timeoutMs: 1,
        retries: 0,
        answer: { question: 'q', answer: '', questionId: 'question_1' },
      }),
    ).toBe(null);
  });
});
