import type { Failure } from '@caisson/protocol';
import { expect, test } from 'vitest';
import { createAttemptFixture } from './attempt-fixture.ts';
import { createEvaluation } from './tool-gate.ts';
import { createUnaskedWatch } from './unasked-watch.ts';

function watch(isKnownToAsk = false) {
  const endings: Failure[] = [];
  const reports: string[] = [];
  const { context, remove } = createAttemptFixture();
  remove();
  const unasked = createUnaskedWatch({
    title: 'stranger',
    isKnownToAsk,
    evaluate: createEvaluation(context.job),
    found: (_call, _judged, failure) => endings.push(failure),
    limitedBySandbox: (message) => reports.push(message),
  });
  const call = (tool: string, input: unknown = {}, ok = true) => {
    unasked.receive({ kind: 'tool-start', callId: 'c', tool, input });
    unasked.receive({ kind: 'tool-end', callId: 'c', ok });
  };
  const ask = (tool: string, input: unknown, allow: boolean) =>
    unasked
      .watched({ judge: () => Promise.resolve(allow ? { allow } : { allow, reason: 'no' }) })
      .judge({ id: 'c', tool, input });
  return { endings, reports, call, ask };
}

const PUSH = { command: 'git push --force origin main' };
const ENDED = { reason: 'policy-denied' };

test('a call that was denied and worked all the same ends the run; one that was allowed does not', async () => {
  const denied = watch(true);
  await denied.ask('bash', PUSH, false);
  denied.call('bash', PUSH);
  expect(denied.endings).toEqual([{ ...ENDED, detail: 'stranger did something that was denied before' }]);
  const allowed = watch(true);
  await allowed.ask('bash', PUSH, true);
  allowed.call('bash', PUSH);
  expect(allowed.endings).toEqual([]);
});

test('a permission covers one call, not the next one with the same id', async () => {
  const { endings, call, ask } = watch(true);
  await ask('bash', { command: 'ls' }, true);
  call('bash', { command: 'ls' });
  call('bash', PUSH);
  expect(endings).toMatchObject([ENDED]);
});

test('a tool that policy does not know ends the run if it was denied, and is reported if it was not asked about', async () => {
  const denied = watch(true);
  await denied.ask('deploy', {}, false);
  denied.call('deploy');
  expect(denied.endings).toMatchObject([ENDED]);
  const unasked = watch();
  unasked.call('deploy');
  expect([unasked.endings, unasked.reports]).toEqual([
    [],
    ['stranger does not ask before it acts: its calls are limited by the sandbox alone'],
  ]);
});

test('a tool of any kind that policy knows is judged by its name', () => {
  const { endings, call } = watch(true);
  call('run_shell_command', PUSH);
  expect(endings).toMatchObject([ENDED]);
});

test('what failed, reads or writes own notes is neither reported nor ended', () => {
  const { endings, reports, call } = watch();
  call('bash', PUSH, false);
  for (const tool of ['read', 'grep', 'think', 'todowrite', 'mcp__caisson__board_read']) call(tool);
  expect([endings, reports]).toEqual([[], []]);
});
