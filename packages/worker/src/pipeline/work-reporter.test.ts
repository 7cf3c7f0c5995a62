import type { WorkerSaying } from '@caisson/protocol';
import { expect, onTestFinished, test } from 'vitest';
import { createAttemptFixture } from '../coordination/attempt-fixture.ts';
import type { AgentSignal } from '../runtimes/index.ts';
import { createWorkReporter } from './work-reporter.ts';

const SECRET = 'tok-9f8e7d6c5b4a39281706';

function report(...signals: AgentSignal[]): WorkerSaying[] {
  const attempt = createAttemptFixture({ secrets: [{ name: 'TOKEN', value: SECRET }] });
  onTestFinished(attempt.remove);
  const work = createWorkReporter(attempt.context);
  for (const signal of signals) work.report(signal);
  work.end();
  return attempt.said;
}

const start = (callId: string, input: unknown): AgentSignal => ({
  kind: 'tool-start',
  callId,
  tool: 'bash',
  input,
});

test('describes a call by its command or its files, and its end with the reason', () => {
  const inputs = [{ command: ['ls', '-l'] }, { changes: [{ path: 'a', kind: 'add' }, { path: 'b' }] }].concat(
    [{ pattern: 'x', path: 'src' } as never, { odd: 1 } as never],
  );
  const said = report(...inputs.map((input, index) => start(String(index), input)), {
    kind: 'tool-end',
    callId: '0',
    ok: false,
    detail: 'no such file',
    durationMs: 7,
  });
  const whats = said.flatMap((line) => (line.kind === 'tool.started' ? [line.what] : []));
  expect(whats).toEqual(['ls -l', 'a b', 'x in src', '{"odd":1}']);
  const ends = said.flatMap((line) =>
    line.kind === 'tool.ended' ? [[line.callId, line.ok, line.detail]] : [],
  );
  expect(ends).toEqual([
    ['0', false, 'no such file'],
    ...['1', '2', '3'].map((callId) => [callId, false, 'the agent ended before it']),
  ]);
});

test('pieces of one text are one saying, and a secret in them is redacted', () => {
  const piece = (text: string): AgentSignal => ({ kind: 'text', text, isPiece: true });
  const said = report(
    piece(`the key is ${SECRET.slice(0, 9)}`),
    piece(`${SECRET.slice(9)}.`),
    { kind: 'turn' },
    {
      kind: 'waiting',
      text: 'Reconnecting… 1/5',
    },
  );
  expect(said).toEqual([
    { kind: 'agent.said', text: 'the key is [redacted:TOKEN].' },
    { kind: 'agent.said', text: 'Reconnecting… 1/5', isWaiting: true },
  ]);
});

test('a secret that lies across the cut leaves no part of itself, and every line fits into an event', () => {
  for (const noise of ['x', '\u001b', '😀', '\\']) {
    const flood = `${noise.repeat(3060 / noise.length)}${SECRET}${noise.repeat(100_000)}`;
    const said = report({ kind: 'text', text: flood }, start(flood, { command: flood }), {
      kind: 'tool-end',
      callId: flood,
      ok: false,
      detail: `${noise.repeat(90_000)}${SECRET}${noise.repeat(1015)}`,
    });
    expect(said.map(({ kind }) => kind)).toEqual(['agent.said', 'tool.started', 'tool.ended']);
    for (const line of said) {
      expect(Buffer.byteLength(JSON.stringify(line))).toBeLessThan(4096);
      expect(JSON.stringify(line)).not.toMatch(/tok-9|81706/);
    }
    expect(said[0]).toMatchObject({ cutBytes: expect.any(Number) as number });
  }
});

test('redactions that make a text shorter bring no part of a secret into what is kept', () => {
  const value = `begin-${'0123456789abcdef'.repeat(180)}`;
  const attempt = createAttemptFixture({ secrets: [{ name: 'LONG', value }] });
  onTestFinished(attempt.remove);
  const work = createWorkReporter(attempt.context);
  const text = `${value.repeat(22)}${'x'.repeat(64 * 1024 - 22 * value.length - 1500)}${value.repeat(22)}`;
  for (let at = 0; at < text.length; at += 1000)
    work.report({ kind: 'text', text: text.slice(at, at + 1000), isPiece: true });
  work.report({ kind: 'text', text: '' });
  work.report(start(text, { command: text }));
  work.report({ kind: 'tool-end', callId: text, ok: false, detail: value.repeat(30) });
  expect(attempt.said.map(({ kind }) => kind)).toEqual(['agent.said', 'tool.started', 'tool.ended']);
  expect(JSON.stringify(attempt.said)).not.toMatch(/begin-|0123456789abcdef/);
});

test('a call whose end is never reported ends in the record, also when its id is used again', () => {
  const signals = Array.from({ length: 1001 }, (_, index) => start(String(index), { command: 'x' }));
  const said = report(...signals, start('5', { command: 'y' }), { kind: 'tool-end', callId: '5', ok: true });
  const ends = said.flatMap((line) => (line.kind === 'tool.ended' ? [line] : []));
  expect(ends.length).toBe(1002);
  expect(ends.slice(0, 3).map(({ callId, ok, detail }) => [callId, ok, detail])).toEqual([
    ['0', false, 'its end was not reported'],
    ['5', false, 'its end was not reported'],
    ['5', true, undefined],
  ]);
});
