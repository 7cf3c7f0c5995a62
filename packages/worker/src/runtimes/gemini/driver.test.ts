import { expect, it } from 'vitest';
import { describeDriver } from '../driver-conformance.ts';
import { gemini } from './driver.ts';

describeDriver(gemini, { hidesFailedCommands: true });

const result = (more: object): string =>
  JSON.stringify({
    type: 'result',
    stats: { models: { m: { total_tokens: 3 }, n: { total_tokens: 0 } } },
    ...more,
  });

it('an ending without words takes its cause from stderr', () => {
  const stream = gemini.createStream();
  stream.line(result({ status: 'error', error: { message: '[API Error: An unknown error occurred.]' } }));
  const exit = { code: 247, signal: null, stderrTail: 'Attempt 3 failed: The model is overloaded.' };
  expect(stream.end(exit)).toMatchObject({ kind: 'failed', cause: 'overloaded' });
});

it('a loop that it found itself is no success, whatever its result says', () => {
  const stream = gemini.createStream();
  stream.line(
    JSON.stringify({ type: 'error', severity: 'warning', message: 'Loop detected, stopping execution' }),
  );
  stream.line(result({ status: 'success' }));
  expect(stream.end({ code: 0, signal: null, stderrTail: '' })).toMatchObject({
    kind: 'failed',
    cause: 'loop',
  });
});

it('a model served when it counted something', () => {
  const signals = gemini.createStream().line(result({ status: 'success' }));
  expect(signals.filter(({ kind }) => kind === 'model')).toEqual([{ kind: 'model', model: 'm' }]);
});

it('thoughts without an answer are no answer, though its words speak of the context', () => {
  const message =
    'The model returned reasoning thoughts but no final response text. If your context window is near capacity, try using /compress.';
  const stream = gemini.createStream();
  stream.line(result({ status: 'error', error: { message } }));
  expect(stream.end({ code: 0, signal: null, stderrTail: '' })).toMatchObject({ cause: 'empty-answer' });
});

it('a command that fails and prints nothing is a failed call, though its stream calls it a success', () => {
  const ended = (output: string) =>
    gemini
      .createStream()
      .line(JSON.stringify({ type: 'tool_result', tool_id: 'a', status: 'success', output }));
  expect(ended('Command exited with code: 1')).toMatchObject([{ kind: 'tool-end', ok: false }]);
  expect(ended('Command exited with code: 0')).toMatchObject([{ kind: 'tool-end', ok: true }]);
  expect(ended('it says "Command exited with code: 1"')).toMatchObject([{ kind: 'tool-end', ok: true }]);
});
