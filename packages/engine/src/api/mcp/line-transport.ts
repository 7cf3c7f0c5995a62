/**
 * MCP's stdio transport: one JSON-RPC message a line. The SDK has one, too, which keeps a line of any length in memory and
 * takes the streams of its process by itself.
 */
import type { Readable, Writable } from 'node:stream';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { ErrorCode, JSONRPCMessageSchema } from '@modelcontextprotocol/sdk/types.js';
import { createNdjsonDecoder, encodeNdjson, type Decoded } from '@caisson/protocol';

const UNREADABLE = {
  jsonrpc: '2.0',
  id: null,
  error: { code: ErrorCode.ParseError, message: 'a line is no JSON-RPC message, or longer than 1 MiB' },
};

export function createLineTransport(input: Readable, output: Writable): Transport {
  const decoder = createNdjsonDecoder();
  const write = (value: unknown): Promise<void> =>
    new Promise((resolve, reject) => {
      output.write(encodeNdjson(value), (error) => (error == null ? resolve() : reject(error)));
    });
  const receive = (decoded: Decoded): void => {
    const parsed = decoded.kind === 'value' ? JSONRPCMessageSchema.safeParse(decoded.value) : null;
    if (parsed?.success === true) return transport.onmessage?.(parsed.data);
    write(UNREADABLE).catch((error: Error) => transport.onerror?.(error));
  };
  const onData = (chunk: Buffer): void => decoder.push(chunk).forEach(receive);
  const transport: Transport = {
    start() {
      input.on('data', onData);
      return Promise.resolve();
    },
    send: write,
    close() {
      input.off('data', onData);
      input.pause();
      transport.onclose?.();
      return Promise.resolve();
    },
  };
  return transport;
}
