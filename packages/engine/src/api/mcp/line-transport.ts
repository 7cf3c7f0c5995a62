/**
 * MCP's stdio transport: one JSON-RPC message a line. The SDK has one, too, which keeps a line of any length in memory and
 * takes the streams of its process by itself.
 */
import type { Readable, Writable } from 'node:stream';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  CancelledNotificationSchema,
  ErrorCode,
  JSONRPCMessageSchema,
  type JSONRPCMessage,
  type RequestId,
} from '@modelcontextprotocol/sdk/types.js';
import { createNdjsonDecoder, encodeNdjson, type Decoded } from '@caisson/protocol';

const UNREADABLE = {
  jsonrpc: '2.0',
  id: null,
  error: { code: ErrorCode.ParseError, message: 'a line is no JSON-RPC message, or longer than 1 MiB' },
};

export interface LineTransport extends Transport {
  /** Resolves when every request that was read so far has its answer, or was cancelled. */
  answered(): Promise<void>;
}

export function createLineTransport(input: Readable, output: Writable): LineTransport {
  const decoder = createNdjsonDecoder({ allowUnterminated: true });
  const unanswered = createUnanswered();
  const write = (value: unknown): Promise<void> =>
    new Promise((resolve, reject) => {
      output.write(encodeNdjson(value), (error) => (error == null ? resolve() : reject(error)));
    });
  const receive = (decoded: Decoded): void => {
    const parsed = decoded.kind === 'value' ? JSONRPCMessageSchema.safeParse(decoded.value) : null;
    if (parsed?.success === true) {
      unanswered.received(parsed.data);
      return transport.onmessage?.(parsed.data);
    }
    write(UNREADABLE).catch((error: Error) => transport.onerror?.(error));
  };
  const onData = (chunk: Buffer): void => decoder.push(chunk).forEach(receive);
  const onEnd = (): void => decoder.end().forEach(receive);
  const transport: LineTransport = {
    start() {
      input.on('data', onData).once('end', onEnd);
      return Promise.resolve();
    },
    async send(message) {
      try {
        await write(message);
      } finally {
        unanswered.sent(message); // one that could not be written never will be
      }
    },
    answered: () => unanswered.none(),
    close() {
      input.off('data', onData).off('end', onEnd);
      input.pause();
      transport.onclose?.();
      return Promise.resolve();
    },
  };
  return transport;
}

interface Unanswered {
  received(message: JSONRPCMessage): void;
  sent(message: JSONRPCMessage): void;
  none(): Promise<void>;
}

function createUnanswered(): Unanswered {
  const ids = new Set<RequestId>();
  const waiting: (() => void)[] = [];
  const remove = (id: RequestId | undefined): void => {
    if (id !== undefined) ids.delete(id);
    if (ids.size === 0) for (const resolve of waiting.splice(0)) resolve();
  };
  return {
    received(message) {
      if ('method' in message && 'id' in message) ids.add(message.id);
      const cancelled = CancelledNotificationSchema.safeParse(message);
      if (cancelled.success) remove(cancelled.data.params.requestId); // no answer follows
    },
    sent(message) {
      if (!('method' in message)) remove(message.id);
    },
    none: () =>
      new Promise((resolve) => {
        waiting.push(resolve);
        remove(undefined);
      }),
  };
}
