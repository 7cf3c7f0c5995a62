/** What stops an agent from outside. */
import { expect } from 'vitest';
import { pidsWith, until } from '../../e2e/project.ts';
import { createStage, expectUsage } from '../agent-run.ts';
import type { AgentUnderTest } from '../agent-under-test.ts';
import { uniqueMark, waitForever, isToolRunning, usage } from './cell.ts';

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
