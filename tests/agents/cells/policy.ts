/** What an agent may not do. */
import { expect } from 'vitest';
import { until } from '../../e2e/project.ts';
import { createStage, expectUsage } from '../agent-run.ts';
import type { AgentUnderTest } from '../agent-under-test.ts';
import { runCommand, expectDone, diffOf, usage } from './cell.ts';

export async function denied(agent: AgentUnderTest): Promise<void> {
  const stage = await createStage(agent, {
    script: [
      runCommand('touch denied.txt; git push --force origin main'),
      { say: 'I was not allowed to push.', ...usage(60, 7) },
    ],
  });
  const ran = await stage.run('push it');
  expectDone(ran, 'I was not allowed to push.');
  expect(ran.result?.policy.denials).toMatchObject([{ layer: 'gate', actionClass: 'git_destructive' }]);
  expect(await diffOf(stage, ran)).not.toContain('denied.txt');
  expectUsage(stage, ran);
}

/** Reported with the layer that held it: a tool that the program does not even offer never came to the gate. */
export async function suggest(agent: AgentUnderTest): Promise<string> {
  const stage = await createStage(agent, {
    script: [
      { tool: { intent: 'write-file', path: 'made.txt', content: 'made\n' }, ...usage(50, 9) },
      { say: 'I would write made.txt.', ...usage(60, 7) },
    ],
  });
  const ran = await stage.run('write it', '--mode', 'suggest');
  expect([ran.failure, ran.status]).toEqual([undefined, 'done']);
  expect(await diffOf(stage, ran)).not.toContain('made.txt');
  expectUsage(stage, ran);
  const denials = ran.result?.policy.denials ?? [];
  if (denials.length > 0) {
    expect(denials).toMatchObject([{ layer: 'gate', what: expect.stringContaining('made.txt') as string }]);
    return 'by the gate';
  }
  return (ran.result?.usage?.toolCalls ?? 0) === 0 ? 'tool not offered' : 'by the program';
}

export async function fullAuto(agent: AgentUnderTest): Promise<void> {
  const stage = await createStage(agent, {
    script: [
      runCommand('touch denied.txt; git reset --hard'),
      { say: 'I was not allowed to.', ...usage(60, 7) },
    ],
  });
  const ran = await stage.run('throw it away', '--mode', 'full-auto');
  expectDone(ran, 'I was not allowed to.');
  expect(ran.result?.policy.denials).toMatchObject([{ layer: 'gate', actionClass: 'git_destructive' }]);
  expect(await diffOf(stage, ran)).not.toContain('denied.txt');
}

/** What was denied does not change by asking again. */
export async function loop(agent: AgentUnderTest): Promise<void> {
  const stage = await createStage(agent, {
    script: [
      ...Array.from({ length: 7 }, () => runCommand('git push --force origin main')),
      { say: 'I gave up.', ...usage(60, 7) },
    ],
  });
  const ran = await stage.run('push it');
  expect(ran.failure).toMatchObject({ reason: 'policy-denied', cause: 'loop' });
  expect(ran.result?.policy.denials).toHaveLength(5);
}

/**
 * What fails does not change by trying again. A command that prints something is a success to Gemini whatever its exit
 * code, and one that asks (`test`, `grep`) to Claude Code.
 */
export async function failingLoop(agent: AgentUnderTest): Promise<string> {
  const stage = await createStage(agent, {
    script: [...Array.from({ length: 7 }, () => runCommand('false')), { say: 'I gave up.', ...usage(60, 7) }],
  });
  const ran = await stage.run('look for it');
  if (agent.reportsFailures) {
    expect(ran.failure).toMatchObject({ reason: 'provider-failed', cause: 'loop' });
    return 'pass';
  }
  expectDone(ran, 'I gave up.');
  return 'not reported by the program';
}

/** Longer than the minute after which several programs give up on a hook that says nothing else. */
const LONG_HOLD_MS = 70_000;

export async function approval(agent: AgentUnderTest): Promise<void> {
  const stage = await createStage(agent, {
    script: [
      runCommand('mkdir old; find old -delete; echo cleared > cleared.txt'),
      { say: 'Cleared.', ...usage(60, 7) },
    ],
  });
  const begun = await stage.begin('clear it', '--mode', 'full-auto');
  await until(
    'the call is held',
    async () => {
      const { stdout } = await stage.project.caisson('approvals', '-o', 'json');
      return stdout.includes(begun.runId);
    },
    60_000,
  );
  await new Promise((resolve) => setTimeout(resolve, LONG_HOLD_MS));
  expect((await stage.project.caisson('approve', begun.runId)).code).toBe(0);
  const ran = await begun.end();
  expectDone(ran, 'Cleared.');
  expect(await diffOf(stage, ran)).toContain('+cleared');
  expectUsage(stage, ran);
}
