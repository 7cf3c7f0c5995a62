/** What a model answers instead of an answer. */
import type { ScriptTurn } from '@caisson/testkit';
import { expect } from 'vitest';
import { createStage, expectUsage, KEY } from '../agent-run.ts';
import type { AgentUnderTest } from '../agent-under-test.ts';
import { diffOf, expectDone, runCommand, usage } from './cell.ts';

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

/** A stream that breaks off once ends no run: the program asks again, or another attempt continues its work. */
export async function cutOnce(agent: AgentUnderTest): Promise<string> {
  const stage = await createStage(agent, {
    script: [
      { when: 'go on from it', turns: [{ say: 'Made.', ...usage(70, 8) }] },
      {
        when: 'make it',
        turns: [
          runCommand('echo made > made.txt'),
          { say: 'Made.', fault: 'cut', times: 1, ...usage(60, 7) },
        ],
      },
    ],
  });
  const ran = await stage.run('make it');
  expectDone(ran, 'Made.');
  expect(await diffOf(stage, ran)).toContain('+made');
  return ran.total === undefined ? 'by itself' : 'in another attempt';
}

/** An agent that asks its model without end is stopped; one that gives up by itself names its cause. */
export async function endless(agent: AgentUnderTest): Promise<string> {
  const stage = await createStage(agent, {
    script: [runCommand('echo made > made.txt'), { say: 'Never.', fault: 'context-overflow' }],
    config: 'limits: { failedAnswers: 15 }\n',
  });
  const ran = await stage.run('make it', '--timeout', '150s');
  expect(ran.failure?.reason).toBe('provider-failed');
  expect(ran.failure?.cause).toMatch(/^(failed-answers|context-overflow|api-error)$/);
  expect(stage.model.modelRequests().length).toBeLessThan(45);
  return ran.failure?.cause ?? '';
}
