import { expect, it } from 'vitest';
import { describeDriver } from '../driver-conformance.ts';
import { opencode } from './driver.ts';

describeDriver(opencode);

it('half an answer is none, unless the agent goes on', () => {
  const finish = (reason: string) => JSON.stringify({ type: 'step_finish', part: { reason } });
  const ending = (...lines: string[]) => {
    const stream = opencode.createStream();
    stream.line(JSON.stringify({ type: 'text', part: { text: 'I was' } }));
    for (const line of lines) stream.line(line);
    return stream.end({ code: 0, signal: null, stderrTail: '' });
  };
  expect(ending(finish('length'))).toMatchObject({ kind: 'failed', cause: 'max-tokens', reply: 'I was' });
  expect(ending(finish('length'), JSON.stringify({ type: 'step_start' }), finish('stop'))).toMatchObject({
    kind: 'answered',
  });
});
