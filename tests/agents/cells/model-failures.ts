/** What a model answers instead of an answer. */
import type { ScriptTurn } from '@caisson/testkit';
import { expect } from 'vitest';
import { createStage, expectUsage, KEY } from '../agent-run.ts';
import type { AgentUnderTest } from '../agent-under-test.ts';
import { runCommand, usage } from './cell.ts';

export async function auth(agent: AgentUnderTest): Promise<void> {
  const stage = await createStage(agent, { script: [{ say: 'Never.' }], acceptedKey: `${KEY}-other` });
  const ran = await stage.run('anything');
  expect(ran.failure).toMatchObject({ reason: 'provider-failed', cause: 'auth' });
  expect([ran.status, ran.cli.code]).toEqual(['error', 1]);
}

export async function overloaded(agent: AgentUnderTest): Promise<void> {
  const stage = await createStage(agent, { script: [{ fault: '529' }] });
  const ran = await stage.run('anything', '--retries', '0');
  expect(ran.failure).toMatchObject({ reason: 'provider-failed', cause: 'overloaded' });
  expect([ran.status, ran.cli.code]).toEqual(['error', 1]);
}

/** Whatever its program makes of it: the model would not, and nothing is tried again. */
export async function refused(agent: AgentUnderTest): Promise<void> {
  const stage = await createStage(agent, {
    script: [runCommand('echo begun > begun.txt'), { fault: 'refusal', ...usage(60, 7) }],
  });
  const ran = await stage.run('do something bad');
  expect(ran.failure).toMatchObject({ reason: 'provider-failed', cause: 'refusal' });
  expect([ran.status, ran.cli.code]).toEqual(['error', 1]);
  expectUsage(stage, ran);
}

/** Half an answer is none, also where the program takes it for one. Claude Code asks to go on, three times. */
export async function cut(agent: AgentUnderTest): Promise<void> {
  const turn: ScriptTurn = { say: 'I was about to', fault: 'max-tokens', ...usage(60, 7) };
  const stage = await createStage(agent, { script: Array.from({ length: 6 }, () => turn) });
  const ran = await stage.run('write a novel');
  expect(ran.failure).toMatchObject({ reason: 'provider-failed', cause: 'max-tokens' });
  expect([ran.status, ran.cli.code]).toEqual(['error', 1]);
  expectUsage(stage, ran);
}
