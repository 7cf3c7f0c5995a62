/** What a lost run used of its model: its worker counted it, and its record and the budget say it, as at least that. */
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import type { BudgetStanding } from '@caisson/engine';
import type { DispatchResult } from '@caisson/protocol';
import { expect, it } from 'vitest';
import { until, type CliRun } from '../e2e/project.ts';
import { caissonAs } from '../e2e/users.ts';
import { killDaemon, serve } from './killed-daemons.ts';
import { command, createAgents, detach, untilAt, untilFile, usage } from './scripted-agents.ts';

/** Its model answered once; then its host and its worker are killed. */
async function loseRun(): Promise<{ root: string; env: Record<string, string>; runId: string }> {
  const agents = await createAgents([{ say: 'One.', ...command(untilFile('used')), ...usage(1000, 500) }]);
  const { project } = agents;
  const daemon = await serve(project);
  const runId = await detach(agents, 'work on it');
  await untilAt(agents, runId, 'used');
  const launched = (await project.events(runId)).filter(({ type }) => type === 'attempt.launched');
  const [worker] = launched.map((event) => event['handle'] as { pid: number });
  if (worker === undefined) throw new Error('it has no worker');
  await killDaemon(daemon);
  process.kill(worker.pid, 'SIGKILL');
  return { root: project.root, env: project.env, runId };
}

async function expectCounted(cwd: string, env: Record<string, string>, runId: string): Promise<void> {
  const caisson = (...words: string[]): Promise<CliRun> => caissonAs({ cwd, env }, ...words);
  const look = async (): Promise<DispatchResult | null> => {
    const shown = JSON.parse((await caisson('show', runId, '-o', 'json')).stdout) as DispatchResult;
    return shown.failure?.reason === 'lost' ? shown : null;
  };
  const lost = await until('it is lost', look, 30_000);
  expect(lost).toMatchObject({ result: null, usage: { inputTokens: 1000, outputTokens: 500 } });
  expect(lost.costUsd).toBeGreaterThan(0);
  expect((await caisson('show', runId)).stdout).toContain('at least 1000 tokens in, 500 out, $0.01');
  const { standings } = JSON.parse((await caisson('budget', '-o', 'json')).stdout) as {
    standings: BudgetStanding[];
  };
  expect(standings).toMatchObject([{ tokensIn: 1000, tokensOut: 500, unknownCosts: 0 }]);
}

it('is shown and charged', { timeout: 120_000 }, async () => {
  const { root, env, runId } = await loseRun();
  await expectCounted(root, env, runId);
});

it(
  'is shown and charged where the run could not be settled, as its project was moved',
  { timeout: 120_000 },
  async () => {
    const { root, env, runId } = await loseRun();
    const moved = join(root, '../moved');
    renameSync(root, moved);
    await expectCounted(moved, env, runId);
  },
);
