import type { Failure } from '@caisson/protocol';
import { expect, test } from 'vitest';
import { createAttemptFixture } from './attempt-fixture.ts';
import { createEvaluation } from './tool-gate.ts';
import { createUngatedWatch } from './ungated-watch.ts';

const PUSH = 'git push --force origin main';

function watch(name: string, adapter?: { path: string; sha256: string }) {
  const endings: Failure[] = [];
  const runtime = { name, ...(adapter === undefined ? {} : { adapter }) };
  const { context, remove } = createAttemptFixture();
  remove();
  const ungated = createUngatedWatch({
    runtime,
    evaluate: createEvaluation(context.job),
    found: (_call, _judged, failure) => endings.push(failure),
  });
  const call = (tool: string, input: unknown, ok = true) => {
    ungated.receive({ kind: 'tool-start', callId: 'c', tool, input });
    ungated.receive({ kind: 'tool-end', callId: 'c', ok });
  };
  const ask = (command: string, allow: boolean) =>
    ungated
      .watched({ judge: () => Promise.resolve(allow ? { allow } : { allow, reason: 'no' }) })
      .judge({ tool: 'Bash', input: { command } });
  return { endings, call, ask };
}

test('a command that worked while the gate was never asked ends the run, once', () => {
  const { endings, call } = watch('codex');
  call('shell', { command: 'ls' });
  call('shell', { command: 'ls' });
  expect(endings).toMatchObject([{ reason: 'policy-denied' }]);
  expect(endings[0]?.detail).toContain('Codex ran a command without asking the gate');
});

test('a program that asked and obeys is not ended, also if it reports a command in other quotes', async () => {
  const { endings, call, ask } = watch('codex');
  await ask('ls', true);
  call('shell', { command: "/bin/sh -lc 'ls'" });
  // Allowed by a person: policy alone would not have.
  await ask(`echo 'a b' "c"; ${PUSH}`, true);
  call('shell', { command: `/bin/sh -lc "echo 'a b' \\"c\\"; ${PUSH}"` });
  await ask('git push --force origin other', false);
  call('shell', { command: 'git push --force origin other' }, false);
  expect(endings).toEqual([]);
});

test.each([
  ['was denied', PUSH],
  ['was never asked about', 'git push --force origin other'],
])('a command that worked although it %s ends the run', async (_what, command) => {
  const { endings, call, ask } = watch('claude-code');
  await ask('ls', true);
  await ask(PUSH, false);
  call('Bash', { command });
  expect(endings).toMatchObject([{ reason: 'policy-denied' }]);
  expect(endings[0]?.detail).toContain('its hook was bypassed');
});

test('a command that policy allows anyway is no proof once the gate was asked', async () => {
  const { endings, call, ask } = watch('claude-code');
  await ask('ls', true);
  call('Bash', { command: 'npm test' });
  expect(endings).toEqual([]);
});

test('what is no command, or failed, proves nothing; nor does our own agent or an adapter of the user', () => {
  const codex = watch('codex');
  codex.call('update_plan', { steps: [] });
  codex.call('shell', { command: 'ls' }, false);
  const native = watch('native');
  native.call('bash', { command: 'ls' });
  const own = watch('codex', { path: '/x.js', sha256: 'a'.repeat(64) });
  own.call('shell', { command: 'ls' });
  expect([codex.endings, native.endings, own.endings]).toEqual([[], [], []]);
});
