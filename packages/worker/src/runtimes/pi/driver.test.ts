import { expect, it } from 'vitest';
import { describeDriver } from '../driver-conformance.ts';
import { pi } from './driver.ts';

describeDriver(pi);

it('half an answer is none, unless the agent goes on', () => {
  const said = (stopReason: string) =>
    JSON.stringify({
      type: 'message_end',
      message: { role: 'assistant', stopReason, content: [{ type: 'text', text: 'I was' }] },
    });
  const ending = (...reasons: string[]) => {
    const stream = pi.createStream();
    for (const line of [...reasons.map(said), JSON.stringify({ type: 'agent_settled' })]) stream.line(line);
    return stream.end({ code: 0, signal: null, stderrTail: '' });
  };
  expect(ending('length')).toMatchObject({ kind: 'failed', cause: 'max-tokens', reply: 'I was' });
  expect(ending('length', 'stop')).toMatchObject({ kind: 'answered' });
});
