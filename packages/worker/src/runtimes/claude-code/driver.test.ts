import { expect, it } from 'vitest';
import { describeDriver } from '../driver-conformance.ts';
import { claudeCode } from './driver.ts';
import type { UsageCount } from '../contract.ts';

describeDriver(claudeCode);

const count = (inputTokens: number, outputTokens: number): UsageCount => ({
  inputTokens,
  outputTokens,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
});

/** The `result` of a resumed run that used 150 and 11 itself, as a version counts it. */
function accountsOf(modelUsage: object, since?: object) {
  const stream = claudeCode.createStream({ resume: { sessionId: 's', usage: count(90, 13) } });
  const result = {
    type: 'result',
    subtype: 'success',
    result: 'Done.',
    total_cost_usd: 0.5,
    usage: { input_tokens: 150, output_tokens: 11 },
    modelUsage,
    ...(since === undefined ? {} : { model_usage_since_last_result: since }),
  };
  const signals = stream.line(JSON.stringify(result));
  return signals.filter(({ kind }) => kind === 'usage' || kind === 'cost');
}

it('a resumed run is charged what it used itself, whichever way its version counts', () => {
  const usage = { kind: 'usage', how: 'total', usage: count(150, 11) };
  const sonnet = { inputTokens: 150, outputTokens: 11, costUSD: 0.2 };
  const session = { sonnet: { inputTokens: 240, outputTokens: 24, costUSD: 0.5 } };
  expect(accountsOf(session, { sonnet })).toEqual([usage, { kind: 'cost', usd: 0.2 }]);
  expect(accountsOf({ sonnet })).toEqual([usage, { kind: 'cost', usd: 0.5 }]);
  expect(accountsOf(session)).toEqual([usage]);
});

it('the served model is reported by its own name', () => {
  const message = { id: 'm1', model: 'sonnet-of-today', content: [], usage: {} };
  const stream = claudeCode.createStream();
  stream.line(JSON.stringify({ type: 'system', subtype: 'init', session_id: 's', model: 'sonnet' }));
  expect(stream.line(JSON.stringify({ type: 'assistant', message }))).toContainEqual({
    kind: 'model',
    model: 'sonnet-of-today',
  });
});
