import type { ListedRun } from '@caisson/engine';
import type { DispatchResult, LiveRun } from '@caisson/protocol';
import { expect, test } from 'vitest';
import { describeLive, formatDoing } from './format-live.ts';

const AT = '2026-01-02T03:04:05.000Z';
const NOW = Date.parse(AT) + 12_000;
const LIVE: LiveRun = {
  phase: 'working',
  since: AT,
  attempt: 1,
  turns: 1,
  toolCalls: 2,
  tokens: 0,
  health: 'healthy',
  source: 'host',
};
const APPROVAL = { kind: 'approval', id: 'approval_1', text: 'rm -r x' } as const;

const listed = (live: Partial<LiveRun>, more: Partial<ListedRun> = {}): ListedRun =>
  ({ runId: 'run_x', status: 'running', live: { ...LIVE, ...live }, ...more }) as ListedRun;

test('a list says the tool, or else the phase, and what is wrong', () => {
  const tool = { name: 'mcp__a-very-long-name\nx', what: 'npm test', since: AT, others: 0 };
  expect(formatDoing(listed({}), NOW)).toBe(', working');
  expect(formatDoing(listed({ tool }), NOW)).toBe(', mcp__a-very-lon… 12.0 s');
  expect(formatDoing(listed({ health: 'stale' }), NOW)).toBe(', working, stale');
  const stall = { reason: 'model-silent', detail: 'x', since: AT } as const;
  expect(formatDoing(listed({ stall, health: 'stale' }), NOW)).toBe(', working, model-silent');
  expect(formatDoing(listed({}, { waitsFor: APPROVAL }), NOW)).toBe('');
  expect(formatDoing(listed({}, { status: 'queued' }), NOW)).toBe('');
});

test('one run says how far it is, what it used, what it waits for, and that its host is silent', () => {
  const result = {
    runId: 'run_x',
    live: {
      ...LIVE,
      attempt: 2,
      tokens: 1,
      tool: { name: 'bash', what: 'npm test', since: AT, others: 2 },
      health: 'dead',
      stall: { reason: 'in-tool', detail: 'bash runs', since: AT },
      source: 'ledger',
    },
    waitsFor: APPROVAL,
  } as unknown as DispatchResult;
  expect(describeLive(result, NOW).map(String)).toEqual([
    'working for 12.0 s, attempt 2',
    'bash: npm test, for 12.0 s (and 2 more)',
    'so far: 1 turn, 2 tool calls, 1 token, cost unknown',
    'health: dead',
    'no progress: in-tool for 12.0 s: bash runs',
    'waits for approval: rm -r x',
    '  caisson approve approval_1',
    '  caisson deny approval_1',
    'its host did not answer in time: this is what is recorded',
  ]);
  expect(describeLive({ runId: 'run_x' }, NOW)).toEqual([]);
});
