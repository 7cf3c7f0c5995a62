import type { Question } from '@caisson/protocol';
import { expect, test } from 'vitest';
import type { Approval, ListedRun } from '../api/answers.ts';
import { showControls } from '../ui/agent-text.tsx';
import { parseRoute } from '../router/route.ts';
import {
  arrange,
  buildInbox,
  followChoice,
  hasMovedUp,
  idsOf,
  NOTHING_ARRANGED,
  NOTHING_CHOSEN,
  pathOf,
} from './inbox-items.ts';

const approval = (approvalId: string, deadlineAt: string, status: Approval['status'] = 'open'): Approval => ({
  ...{
    approvalId,
    runId: 'r',
    tool: 'bash',
    what: 'ls',
    actionClass: 'x',
    requestedAt: '',
    deadlineAt,
    status,
  },
});

const list = (...ids: string[]) =>
  buildInbox(
    { approvals: ids.map((id) => approval(id, id)), questions: [], failures: [], work: [], troubles: [] },
    new Set(),
  );

test('the call that ends soonest is first, and decided ones are gone', () => {
  const approvals = [approval('late', '2'), approval('soon', '1'), approval('done', '0', 'allowed')];
  const items = buildInbox({ approvals, questions: [], failures: [], work: [], troubles: [] }, new Set());
  expect(items.map(({ id }) => id)).toEqual(['soon', 'late']);
});

test('a call that has just come is never chosen by itself', () => {
  expect(followChoice(NOTHING_CHOSEN, list(), list('a'))).toEqual({ id: null, moves: 0 });
  expect(followChoice({ id: 'b', moves: 0 }, list('b'), list('a', 'b'))).toEqual({ id: 'b', moves: 0 });
  expect(followChoice({ id: 'b', moves: 0 }, list('b'), list('a'))).toEqual({ id: null, moves: 1 });
  expect(followChoice({ id: 'b', moves: 0 }, list('b', 'd'), list('a', 'c', 'd'))).toEqual({
    ...{ id: 'd', moves: 1 },
  });
  expect(followChoice({ id: 'd', moves: 1 }, list('b', 'd'), list('b', 'e'))).toEqual({ id: 'b', moves: 2 });
});

test('what is listed keeps its place when something more urgent comes, until a person wants it first', () => {
  const steps = [list('b', 'c'), list('a', 'b', 'c'), list('a', 'c', 'd'), list('a', 'd')];
  let arranged = NOTHING_ARRANGED;
  const shown = steps.map((urgent) => {
    arranged = arrange(arranged, urgent);
    return [arranged.items.map(({ id }) => id).join(''), [...arranged.late].join('')];
  });
  expect(shown).toEqual([
    ['bc', ''],
    ['bca', 'a'],
    ['cad', 'ad'],
    ['ad', ''],
  ]);
});

test('what moves up when another entry goes is known', () => {
  expect(hasMovedUp(list('a', 'b'), list('b'))).toBe(true);
  expect(hasMovedUp(list('a', 'b'), list('a', 'c'))).toBe(false);
  expect(hasMovedUp(list('a', 'b'), list('a', 'b', 'c'))).toBe(false);
});

test('control, direction and invisible characters become visible', () => {
  expect(showControls('a\u202eb\u0007c\u200bd\te\n')).toBe('a\\u202eb\\u0007c\\u200bd\te\n');
  const invisible = '\u00ad\u061c\u180e\u2028\u2029\ufff9\u{e0041}\r';
  expect(showControls(invisible)).toBe('\\u00ad\\u061c\\u180e\\u2028\\u2029\\ufff9\\u{e0041}\\u000d');
});

test('addresses name pages, and nothing else', () => {
  expect(parseRoute('/')).toEqual({ page: 'inbox' });
  expect(parseRoute('/runs/run_1/diff')).toEqual({ page: 'run', runId: 'run_1', tab: 'diff' });
  expect(
    ['/constructor', '/runs/x/y/z', '/runs/x/nothing', '/pool/x'].map((path) => parseRoute(path).page),
  ).toEqual(Array.from({ length: 4 }, () => 'missing'));
});

test('the question of a thread leads to the residents, that of a run to its page', () => {
  const pathOfQuestion = (runId: string) =>
    pathOf({ kind: 'question', id: 'q', question: { runId } as Question });
  expect(['thread_1', 'run_1'].map(pathOfQuestion)).toEqual(['/residents', '/runs/run_1']);
});

test('the same task that fails again and again is one entry, and is hidden as one', () => {
  const failure = (runId: string, description: string) =>
    ({ runId, description, runtime: 'native', status: 'error' }) as ListedRun;
  const failures = [
    failure('c', 'nightly'),
    failure('other', 'once'),
    failure('b', 'nightly'),
    failure('a', 'nightly'),
  ];
  const sources = { approvals: [], questions: [], failures, work: [], troubles: [] };
  const items = buildInbox(sources, new Set());
  expect(items.map(({ id }) => id)).toEqual(['failure:c', 'failure:other']);
  const [nightly] = items;
  const ids = nightly === undefined ? [] : idsOf(nightly);
  expect(ids).toEqual(['failure:c', 'failure:b', 'failure:a']);
  expect(buildInbox(sources, new Set(ids)).map(({ id }) => id)).toEqual(['failure:other']);
});
