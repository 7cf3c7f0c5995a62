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

test('tells a call by its command or its files, and its end with the reason', () => {
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
