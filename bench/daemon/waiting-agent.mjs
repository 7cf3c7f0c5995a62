#!/usr/bin/env node
// An ACP agent that asks its model and waits for the answer, which never comes.
import { request } from 'node:http';
import { createInterface } from 'node:readline';

const CALL = JSON.stringify({ model: 'none', max_tokens: 1, stream: true, messages: [] });
const HEADERS = { 'content-type': 'application/json', 'x-api-key': process.env.MODEL_KEY };
const HOW = { method: 'POST', headers: HEADERS };
const ask = () =>
  request(`${process.env.MODEL_URL}/v1/messages`, HOW, ({ statusCode }) => {
    process.stderr.write(`answered with ${statusCode}, where no answer was expected\n`);
    process.exitCode = 1;
    process.stdin.destroy();
  })
    .on('error', ask)
    .end(CALL);
const METHODS = {
  initialize: () => ({ protocolVersion: 1, agentCapabilities: {} }),
  'session/new': () => ({ sessionId: 's1' }),
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  if (method === 'session/prompt') ask();
  const result = METHODS[method]?.();
  if (result !== undefined) process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`);
});
