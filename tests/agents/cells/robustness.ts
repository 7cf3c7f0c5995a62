/** What real use brings: a failure that is tried again, a person who writes, megabytes, calls that a program refuses. */
import { expect } from 'vitest';
import { until } from '../../e2e/project.ts';
import { createStage, expectUsage, KEY } from '../agent-run.ts';
import type { AgentUnderTest } from '../agent-under-test.ts';
import { diffOf, expectDone, runCommand, usage } from './cell.ts';

/** A run that failed before its model ever answered has no session: its retry begins one, and that one can be resumed. */
export async function retryFailure(agent: AgentUnderTest): Promise<void> {
  const stage = await createStage(agent, {
    script: {
      when: 'draw it',
      turns: [runCommand('echo sketched > sketch.txt'), { say: 'I drew it.', ...usage(60, 7) }],
    },
  });
  stage.project.env['MODEL_KEY'] = `${KEY}-wrong`;
  const failed = await stage.run('draw it', '--retries', '0');
  expect(failed.failure).toMatchObject({ reason: 'provider-failed', cause: 'auth' });
  stage.project.env['MODEL_KEY'] = KEY;
  const ran = await stage.follow('retry', failed.runId);
  expectDone(ran, 'I drew it.');
  const again = await stage.follow('retry', ran.runId);
  expectDone(again, 'I drew it.');
  expect(await diffOf(stage, again)).toContain('+sketched');
  expectUsage(stage, ran, again);
}

const INBOX = '.caisson/channel/inbox.jsonl';

/** The prompt names the file, so that a model looks there. */
export async function message(agent: AgentUnderTest): Promise<string> {
  const stage = await createStage(agent, {
    script: [
      runCommand(`until [ -s ${INBOX} ]; do sleep 0.1; done; cp ${INBOX} received.txt`),
      { say: 'I received you.', ...usage(60, 7) },
    ],
  });
  const begun = await stage.begin('wait for word');
  await until('the model is asked', () => stage.model.modelRequests().length > 0, 60_000);
  expect((await stage.project.caisson('send', begun.runId, 'use blue')).code).toBe(0);
  const ran = await begun.end();
  expectDone(ran, 'I received you.');
  expect(await diffOf(stage, ran)).toContain('use blue');
  const isNamed = JSON.stringify(stage.model.modelRequests()[0]?.body).includes(INBOX);
  expect(isNamed).toBe(agent.name !== 'native');
  return isNamed ? 'by its inbox' : 'live';
}

const MEGABYTES = 2_000_000;

/** Programs differ in what they show of it; the end must be there, and the answer whole. */
export async function megabytes(agent: AgentUnderTest): Promise<void> {
  const stage = await createStage(agent, {
    script: [
      {
        when: 'print it',
        turns: [
          runCommand(`head -c ${MEGABYTES} /dev/zero | tr '\\0' x`),
          { say: 'It is printed.', ...usage(60, 7) },
        ],
      },
      { when: 'write it', turns: [{ say: `${'y'.repeat(MEGABYTES)} end`, ...usage(60, 7) }] },
    ],
  });
  expectDone(await stage.run('print it'), 'It is printed.');
  const long = await stage.run('write it');
  expect([long.failure, long.status]).toEqual([undefined, 'done']);
  expect(long.result?.reply.bytes).toBe(MEGABYTES + ' end'.length);
}

/** Codex refuses such a command by itself, whatever a person said: the record does not call it allowed only. */
export async function refusedByItself(agent: AgentUnderTest): Promise<string> {
  const stage = await createStage(agent, {
    script: [
      runCommand('mkdir -p old && touch old/a && rm -rf old && echo cleared > cleared.txt'),
      { say: 'That is all.', ...usage(60, 7) },
    ],
  });
  const begun = await stage.begin('clear it', '--mode', 'full-auto');
  await until(
    'the call is held',
    async () => (await stage.project.caisson('approvals', '-o', 'json')).stdout.includes(begun.runId),
    60_000,
  );
  expect((await stage.project.caisson('approve', begun.runId)).code).toBe(0);
  const ran = await begun.end();
  expectDone(ran, 'That is all.');
  const denials = ran.result?.policy.denials ?? [];
  if ((await diffOf(stage, ran)).includes('+cleared')) {
    expect(denials).toEqual([]);
    return 'runs it';
  }
  expect(denials).toMatchObject([{ layer: 'own-settings', actionClass: 'bash_destructive' }]);
  expect(denials[0]?.what).toMatch(/^approved, but refused by the program itself: .*rm -rf old/);
  return 'refuses it, and that is recorded';
}
