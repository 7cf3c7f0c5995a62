import { expect, test } from 'vitest';
import { parseRequest } from '../admission/index.ts';
import type { ResolvedSchedule } from '../config/index.ts';
import { toScheduledRequest } from './describe-schedule.ts';

const TIMES = { name: 'nightly', cron: '0 3 * * *', jitterMs: 0, catchUp: 'skip' } as const;

const FULL = {
  ...TIMES,
  ...{
    timezone: 'Europe/Berlin',
    task: 'tidy up',
    agent: 'worker',
    runtime: 'native',
    model: 'fast',
    mode: 'suggest',
  },
  ...{
    timeoutMs: 60_000,
    budgetUsd: 2,
    verify: 'npm test',
    repo: 'https://example.invalid/r.git',
    base: 'main',
  },
  ...{ branch: 'tidy', push: true, scope: ['src'], acceptance: 'it is tidy', hosts: ['example.invalid:443'] },
  ...{ capabilities: ['lint'], envBundles: ['ci'], session: 'nightly', priority: 7, retries: 1 },
} satisfies ResolvedSchedule;

test('a schedule asks for what run with the same options asks for', () => {
  const request = toScheduledRequest(FULL, 'nightly@3');
  expect(request).toEqual({
    ...{ task: 'tidy up', agent: 'worker', runtime: 'native', model: 'fast', mode: 'suggest' },
    ...{ timeoutMs: 60_000, budget: { usd: 2 }, verify: 'npm test', repo: 'https://example.invalid/r.git' },
    ...{ base: 'main', branch: 'tidy', push: true, scope: ['src'], acceptance: 'it is tidy' },
    network: { kind: 'hosts', hosts: ['example.invalid:443'] },
    ...{ capabilities: ['lint'], envBundles: ['ci'], session: 'nightly', priority: 7, retries: 1 },
    idempotencyKey: 'nightly@3',
  });
  expect(parseRequest(request)).toEqual(request);
});

test('a command needs no runtime, and what is not set is not asked for', () => {
  const schedule: ResolvedSchedule = { ...TIMES, timeoutMs: null, command: ['npm', 'test'] };
  expect(toScheduledRequest(schedule, 'key')).toEqual({
    ...{ argv: ['npm', 'test'], runtime: 'command', idempotencyKey: 'key' },
  });
});
