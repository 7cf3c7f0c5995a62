/**
 * A model server that is not the testkit's, with the manners of real ones: CRLF, comments and pings between the events,
 * pieces that end in the middle of a character, fields that nobody knows, a model that answers by another name than it
 * was asked by, and a first request that is turned away for a second.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { createProject } from '../e2e/project.ts';

const REPLY = 'Fertig – ✓ 日本語 🦀';
const CONTENT = 'héllo – 日本\n';
const USAGE = { input_tokens: 100, cache_creation_input_tokens: 11, cache_read_input_tokens: 30 };

type Block = { type: 'text'; text: string } | { type: 'tool_use'; name: string; input: object };

const pieces = (words: string): string[] => words.match(/.{1,3}/gsu) ?? [];

function* eventsOf(model: string, block: Block, index: number): Generator<object> {
  const message = {
    id: `msg_${index}`,
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    container: null,
  };
  yield {
    type: 'message_start',
    message: { ...message, usage: { ...USAGE, output_tokens: 1, tier: 'standard' } },
  };
  yield { type: 'ping' };
  const isText = block.type === 'text';
  const begun = isText
    ? { ...block, text: '' }
    : { ...block, id: `toolu_${index}`, input: {}, caller: 'direct' };
  yield { type: 'content_block_start', index: 0, content_block: begun };
  for (const piece of pieces(isText ? block.text : JSON.stringify(block.input))) {
    const delta = isText
      ? { type: 'text_delta', text: piece }
      : { type: 'input_json_delta', partial_json: piece };
    yield { type: 'content_block_delta', index: 0, delta, p: 'padding' };
  }
  yield { type: 'content_block_stop', index: 0 };
  const stop_reason = isText ? 'end_turn' : 'tool_use';
  yield { type: 'message_delta', delta: { stop_reason }, usage: { ...USAGE, output_tokens: 20 }, more: {} };
  yield { type: 'message_stop' };
}

/** Writes one byte at a time at the hard places: no piece knows of events or characters. */
function sendEvents(response: ServerResponse, events: Iterable<object>): void {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  response.write(': keep-alive\r\n\r\n');
  const lines = [...events].map((event) => {
    const type = 'type' in event ? String(event.type) : '';
    return `event: ${type}\r\ndata: ${JSON.stringify(event)}\r\n\r\n`;
  });
  const bytes = Buffer.from(lines.join(''));
  const size = 7 + Math.floor(bytes.length / 10_000); // Node has its own trouble with half a million writes
  for (let at = 0; at < bytes.length; at += size) response.write(bytes.subarray(at, at + size));
  response.end();
}

async function startServer(
  content = CONTENT,
): Promise<{ url: string; target: string; answered: () => number }> {
  let asked = 0;
  let answered = 0;
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = JSON.parse(await text(request)) as { model: string; messages: { content: unknown }[] };
    asked += 1;
    if (asked === 1) {
      const error = { type: 'overloaded_error', message: 'Overloaded', details: null };
      response.writeHead(529, { 'content-type': 'application/json', 'retry-after': '1' });
      response.end(JSON.stringify({ type: 'error', error, request_id: 'req_1' }));
      return;
    }
    answered += 1;
    const isOver = JSON.stringify(body.messages).includes('tool_result');
    const write: Block = { type: 'tool_use', name: 'write', input: { path: 'grüße.txt', content } };
    const block: Block = isOver ? { type: 'text', text: REPLY } : write;
    sendEvents(response, eventsOf(`${body.model}-20991231`, block, answered));
  };
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, target: `127.0.0.1:${port}`, answered: () => answered };
}

it('a run against a server with other manners ends right, counts right and calls no other address', async () => {
  const server = await startServer();
  const project = createProject({
    env: { MODEL_KEY: 'k-foreign' },
    config: `runtimes:\n  native: { endpoint: "${server.url}", apiKey: "env:MODEL_KEY", model: some-model }\n`,
  });
  const ran = await project.run('--runtime', 'native', 'write it');
  expect([ran.failure, ran.status, ran.reply]).toEqual([undefined, 'done', REPLY]);
  expect((await project.caisson('diff', ran.runId)).stdout).toContain(`+${CONTENT}`);
  expect(server.answered()).toBe(2);
  expect(ran.result?.usage).toMatchObject({
    models: ['some-model-20991231'],
    inputTokens: 200,
    outputTokens: 40,
    cacheReadTokens: 60,
    cacheWriteTokens: 22,
  });
  const connections = (await project.events(ran.runId)).filter(({ type }) => type === 'network.connection');
  expect(new Set(connections.map((event) => event['target']))).toEqual(new Set([server.target]));
});

it('a long call in very small pieces is not put together again with each of them', async () => {
  const server = await startServer('0123456789\n'.repeat(9_000));
  const project = createProject({
    env: { MODEL_KEY: 'k-foreign' },
    config: `runtimes:\n  native: { endpoint: "${server.url}", apiKey: "env:MODEL_KEY", model: some-model }\n`,
  });
  const ran = await project.run('--runtime', 'native', '--timeout', '20s', 'write it');
  expect([ran.failure, ran.status]).toEqual([undefined, 'done']);
  const diff = (await project.caisson('diff', ran.runId)).stdout;
  expect(diff.split('\n').filter((line) => line === '+0123456789')).toHaveLength(9_000);
}, 60_000);
