import { expect, test } from 'vitest';
import { parseRequest, type DispatchRequest } from '../admission/index.ts';
import { RUN_CONFIG } from '@caisson/protocol';
import type { ResolvedSchedule } from '../config/index.ts';
import { toScheduledRequest } from './describe-schedule.ts';

const TIMES = { name: 'nightly', cron: '0 3 * * *', jitterMs: 0, catchUp: 'skip' } as const;

const SLOT = { slot: '2026-01-02T03:00:00.000Z', key: 'nightly@3', isCatchUp: true };

const SAME = {
  task: 'tidy up',
  agent: 'worker',
  runtime: 'native',
  model: 'fast',
  sandbox: 'bwrap',
  workspace: 'worktree',
  bring: ['.env'],
  verify: 'npm test',
  verifyLens: 'gate',
  repo: 'https://example.invalid/r.git',
  base: 'main',
  branch: 'tidy',
  push: true,
  gitToken: 'env:TOKEN',
  scope: ['src'],
  outsideScope: 'report',
  acceptance: 'it is tidy',
  allowRisky: true,
  capabilities: ['lint'],
  env: { A: 'b' },
  envBundles: ['ci'],
  secrets: { KEY: 'env:KEY' },
  inputs: { plan: '/project/plan.md' },
  pipeline: 'own.line',
  tools: ['ask'],
  session: 'nightly',
  priority: 7,
  retries: 1,
  overflow: 'reject',
  callbacks: ['https://example.invalid/hook'],
} satisfies DispatchRequest;

const FULL = {
  ...TIMES,
  ...SAME,
  mode: 'suggest',
  ...{ timezone: 'Europe/Berlin', timeoutMs: 60_000, stallTimeout: 5000 },
  ...{ budgetUsd: 2, maxTokens: 1000, maxTurns: 5, maxToolCalls: 9 },
  ...{ memory: 1024, cpus: 1.5, pids: 64, hosts: ['example.invalid:443'] },
} satisfies ResolvedSchedule;

test('a schedule asks for what run with the same options asks for', () => {
  const missing = Object.keys(RUN_CONFIG).filter((key) => !Object.hasOwn(FULL, key));
  expect(missing).toEqual(['timeout', 'network']);
  const request = toScheduledRequest(FULL, SLOT);
  expect(request).toEqual({
    ...SAME,
    mode: 'suggest',
    ...{ timeoutMs: 60_000, stallTimeoutMs: 5000 },
    budget: { usd: 2, tokens: 1000, turns: 5, toolCalls: 9 },
    limits: { memory: 1024, cpus: 1.5, pids: 64 },
    network: { kind: 'hosts', hosts: ['example.invalid:443'] },
    idempotencyKey: 'nightly@3',
    schedule: { name: 'nightly', slot: SLOT.slot, isCatchUp: true },
  });
  expect(parseRequest(request)).toEqual(request);
  const { hosts: _hosts, ...rest } = FULL;
  expect(toScheduledRequest({ ...rest, network: 'none' }, SLOT).network).toEqual({ kind: 'none' });
});

test('a command needs no runtime, and what is not set is not asked for', () => {
  const schedule: ResolvedSchedule = { ...TIMES, timeoutMs: null, command: ['npm', 'test'] };
  expect(toScheduledRequest(schedule, { ...SLOT, isCatchUp: false })).toEqual({
    ...{ argv: ['npm', 'test'], runtime: 'command', idempotencyKey: 'nightly@3' },
    schedule: { name: 'nightly', slot: SLOT.slot },
  });
});
