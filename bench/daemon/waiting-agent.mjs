#!/usr/bin/env node
// An ACP agent that asks its model and waits for the answer, which never comes.
import { get } from 'node:http';
import { createInterface } from 'node:readline';

const ask = () => get(`${process.env.MODEL_URL}/v1/messages`, () => undefined).on('error', ask);
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
