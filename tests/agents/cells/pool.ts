/** The agent as a worker of a pool: the model of the pool is asked, and its hand-off counts. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { grantTrust, WorkerPool } from 'caisson';
import { expect, onTestFinished } from 'vitest';
import { createStage, KEY } from '../agent-run.ts';
import type { AgentUnderTest } from '../agent-under-test.ts';
import { usage } from './cell.ts';

/** A name of its own where the program takes any; a program that knows its models gets another one of those. */
const MODELS: Readonly<Record<string, string>> = {
  gemini: 'gemini-2.5-flash',
  acp: 'gemini-2.5-flash',
};

export async function pool(agent: AgentUnderTest): Promise<void> {
  const arguments_ = { status: 'complete', summary: 'It is done.' };
  const { project, model } = await createStage(agent, {
    script: [
      { tool: { intent: 'mcp', tool: 'hand_off', arguments: arguments_ }, ...usage(40, 9) },
      { say: 'Done.', ...usage(50, 4) },
    ],
  });
  await grantTrust({ cwd: project.root, sendsTo: [new URL(model.url).origin] });
  const keyFile = join(project.root, '..', 'pool-key');
  writeFileSync(keyFile, KEY);
  const asked = MODELS[agent.name] ?? 'pool-model';
  const workers = new WorkerPool(
    {
      ...{ cwd: project.root, workerTimeout: 120 },
      llm: { endpoint: `${model.url}//`, model: asked, apiKey: `file:${keyFile}` },
      request: { runtime: agent.name },
    },
    'You work for the pool of moles.',
  );
  onTestFinished(() => workers.stop());
  const handoff = await workers.assignTask({ id: 'asks', description: 'Look around' });
  expect(handoff).toMatchObject({ status: 'complete', by: 'agent', summary: 'It is done.' });
  expect(handoff.verdict.isEmpty).toBe(true);
  const requests = model.modelRequests();
  expect(JSON.stringify(requests.map(({ body }) => body))).toContain('You work for the pool of moles.');
  // The name is in the body or, of one API, in the path.
  expect(requests.every(({ path, body }) => `${path}${JSON.stringify(body)}`.includes(asked))).toBe(true);
}
