import { expect, test } from 'vitest';
import type { Approval } from '../api/answers.ts';
import { showControls } from '../ui/agent-text.tsx';
import { parseRoute } from '../router/route.ts';
import { buildInbox, chooseAfter } from './inbox-items.ts';

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

test('the call that ends soonest is first, and decided ones are gone', () => {
  const approvals = [approval('late', '2'), approval('soon', '1'), approval('done', '0', 'allowed')];
  const items = buildInbox({ approvals, questions: [], failures: [], work: [] }, new Set());
  expect(items.map(({ id }) => id)).toEqual(['soon', 'late']);
  expect(chooseAfter(items, 'gone', 5)).toBe('late');
  expect(chooseAfter([], 'gone', 0)).toBeNull();
});

test('control and direction characters become visible', () => {
  expect(showControls('a\u202eb\u0007c\u200bd\te\n')).toBe('a\\u202eb\\u0007c\\u200bd\te\n');
});

test('addresses name pages, and nothing else', () => {
  expect(parseRoute('/')).toEqual({ page: 'inbox' });
  expect(parseRoute('/runs/run_1/diff')).toEqual({ page: 'run', runId: 'run_1', tab: 'diff' });
  expect(
    ['/constructor', '/runs/x/y/z', '/runs/x/nothing', '/pool/x'].map((path) => parseRoute(path).page),
  ).toEqual(Array.from({ length: 4 }, () => 'missing'));
});
