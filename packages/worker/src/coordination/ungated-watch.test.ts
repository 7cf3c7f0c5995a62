import type { Failure } from '@caisson/protocol';
import { expect, test } from 'vitest';
import { createUngatedWatch } from './ungated-watch.ts';

function watch(name: string, adapter?: { path: string; sha256: string }) {
  const endings: Failure[] = [];
  const runtime = { name, ...(adapter === undefined ? {} : { adapter }) };
  const ungated = createUngatedWatch(runtime, (failure) => endings.push(failure));
  const call = (tool: string, input: unknown, ok = true) => {
    ungated.hear({ kind: 'tool-start', callId: 'c', tool, input });
    ungated.hear({ kind: 'tool-end', callId: 'c', ok });
  };
  return { ungated, endings, call };
}

test('a command that worked while the gate was never asked ends the run, once', () => {
  const { endings, call } = watch('codex');
  call('shell', { command: 'ls' });
  call('shell', { command: 'ls' });
  expect(endings).toMatchObject([{ reason: 'policy-denied' }]);
  expect(endings[0]?.detail).toContain('Codex ran a command without asking the gate');
});

test('a program that asked once is left alone', async () => {
  const { ungated, endings, call } = watch('claude-code');
  const gate = ungated.watched({ judge: () => Promise.resolve({ allow: true }) });
  await gate.judge({ tool: 'Bash', input: { command: 'ls' } });
  call('Bash', { command: 'ls' });
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
