/** What stops an agent from outside. */
import type { Usage } from '@caisson/protocol';
import { expect } from 'vitest';
import { parseLines, pidsWith, until } from '../../e2e/project.ts';
import { createStage, expectUsage } from '../agent-run.ts';
import type { AgentUnderTest } from '../agent-under-test.ts';
import { uniqueMark, waitForever, isToolRunning, runCommand, usage } from './cell.ts';

export async function budget(agent: AgentUnderTest): Promise<void> {
  const stage = await createStage(agent, {
    script: [
      { tool: { intent: 'run-command', command: 'echo one' }, ...usage(5000, 9) },
      { say: 'Done.', ...usage(5000, 7) },
    ],
  });
  const ran = await stage.run('spend too much', '--max-tokens', '1000');
  expect([ran.failure?.reason, ran.status, ran.cli.code]).toEqual(['budget-exceeded', 'budget_exceeded', 5]);
  expectUsage(stage, ran);
}

export async function timeout(agent: AgentUnderTest): Promise<void> {
  const mark = uniqueMark();
  const stage = await createStage(agent, { script: [waitForever(mark), { say: 'Never.' }] });
  const begun = await stage.begin('wait', '--timeout', `${agent.startSeconds}s`);
  await until('the tool runs', () => isToolRunning(mark), agent.startSeconds * 1000);
  const ran = await begun.end();
  expect([ran.failure?.reason, ran.status, ran.cli.code]).toEqual(['timeout', 'timeout', 124]);
  expect(pidsWith(mark)).toEqual([]);
}

export async function cancel(agent: AgentUnderTest): Promise<void> {
  const mark = uniqueMark();
  const stage = await createStage(agent, { script: [waitForever(mark), { say: 'Never.' }] });
  const begun = await stage.begin('wait');
  await until('the tool runs', () => isToolRunning(mark), 60_000);
  const { code } = await stage.project.caisson('cancel', begun.runId);
  const ran = await begun.end();
  expect([code, ran.status, ran.cli.code]).toEqual([0, 'cancelled', 130]);
  expect(pidsWith(mark)).toEqual([]);
}

interface Counters {
  readonly toolCalls: number;
  readonly tokensIn: number;
  readonly tokensOut: number;
  readonly currentTool: string | null;
}

/** Heartbeats have the same counters for every program: those of the model's answers. The last one may come after them. */
export async function beats(agent: AgentUnderTest): Promise<void> {
  const stage = await createStage(agent, {
    script: [
      runCommand('echo one'),
      runCommand('perl -e "select(undef, undef, undef, 6)"'),
      { say: 'Done.', ...usage(60, 7) },
    ],
  });
  stage.project.env['CAISSON_HEARTBEAT_MS'] = '300';
  const args = ['run', '-o', 'ndjson', '--runtime', agent.name, 'wait'];
  const { stdout } = await stage.project.caisson(...args);
  const events = parseLines(stdout);
  const counted = events
    .filter(({ type }) => type === 'worker.heartbeat')
    .map((event) => event['counters'] as Counters);
  const sum = (key: 'toolCalls' | 'tokensIn' | 'tokensOut'): number =>
    counted.reduce((total, beat) => total + beat[key], 0);
  expect([
    [100, 18, 2],
    [160, 25, 2],
  ]).toContainEqual([sum('tokensIn'), sum('tokensOut'), sum('toolCalls')]);
  expect(counted.filter(({ currentTool }) => currentTool !== null).length).toBeGreaterThan(8);
  const ending = events.find(({ type }) => type === 'dispatch.finished');
  expect(ending?.['usage']).toMatchObject({ inputTokens: 160, outputTokens: 25, toolCalls: 2 });
  expect((ending?.['usage'] as Usage | undefined)?.durationMs).toBeGreaterThan(0);
}
