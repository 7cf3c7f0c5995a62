import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { toErrorInfo } from '@caisson/protocol';
import { expect, test } from 'vitest';
import type { McpProject } from './contract.ts';
import { serveMcp } from './mcp-face.ts';

const INITIALIZE = {
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'by hand', version: '1' },
  },
};

/** What is printed for input that ends behind its last request. */
async function answersTo(
  requests: readonly object[],
  { read, lastBreak = '\n' }: { read: McpProject['read']; lastBreak?: string },
): Promise<Map<unknown, object>> {
  const input = new PassThrough();
  const output = new PassThrough();
  const refuse = (): Promise<never> => Promise.reject(new Error('only looks'));
  const served = serveMcp({
    input,
    output,
    project: {
      read,
      act: refuse,
      steer: refuse,
      writeBoard: refuse,
      start: refuse,
      describeError: toErrorInfo,
      isDaemonLoss: () => false,
      describePatch: () => ({ text: '', files: [] }),
    },
    bounds: { mode: 'suggest', session: null, runUsd: null, totalUsd: null, scopes: ['read'] },
    version: '1.2.3',
    signal: new AbortController().signal,
    onError: (error) => expect.unreachable(error.message),
  });
  input.end(requests.map((request) => JSON.stringify({ jsonrpc: '2.0', ...request })).join('\n') + lastBreak);
  await served;
  output.end();
  const lines = (await text(output)).trimEnd().split('\n');
  const messages = lines.map((line) => JSON.parse(line) as { id: unknown });
  return new Map(messages.map((message) => [message.id, message]));
}

test('what was asked before the input ended is answered, also a call that takes its time', async () => {
  const later = (): Promise<never> =>
    new Promise((_, reject) => setImmediate(reject, new Error('no project')));
  const answers = await answersTo(
    [
      INITIALIZE,
      { method: 'notifications/initialized' },
      { id: 2, method: 'tools/list' },
      { id: 'three', method: 'tools/call', params: { name: 'list', arguments: {} } },
      { id: 4, method: 'nothing/like/this' },
    ],
    { read: later },
  );
  expect(new Set(answers.keys())).toEqual(new Set([1, 2, 'three', 4]));
  expect(answers.get(1)).toMatchObject({ result: { serverInfo: { name: 'caisson', version: '1.2.3' } } });
  expect(answers.get(2)).toMatchObject({ result: { tools: expect.any(Array) } });
  expect(answers.get('three')).toMatchObject({ result: { isError: true } });
  expect(answers.get(4)).toMatchObject({ error: { message: 'Method not found' } });
});

test('a cancelled request has no answer, and is not waited for; a last line needs no line break', async () => {
  const answers = await answersTo(
    [
      INITIALIZE,
      { id: 2, method: 'tools/call', params: { name: 'list', arguments: {} } },
      { method: 'notifications/cancelled', params: { requestId: 2 } },
      { id: 3, method: 'tools/list' },
    ],
    { read: () => Promise.reject(new Error('no project')), lastBreak: '' },
  );
  expect([...answers.keys()]).toEqual([1, 3]);
});
