/**
 * The MCP servers of a host. The SDK is large and slow to load, so this file and what it imports are a bundle that only
 * `caisson mcp`, and a daemon that is asked for `/mcp`, load.
 */
import type { Readable, Writable } from 'node:stream';
import type { McpBounds, McpProject } from './contract.ts';
import { createLineTransport } from './line-transport.ts';
import { openMcpSession } from './mcp-session.ts';
import { createSpentHere } from './spent-here.ts';

export { createMcpSessions } from './mcp-sessions.ts';

/** All servers on streams are of the account that started them; what a client began, it may ask for again after a restart. */
const STREAMS = 'stdio';

export interface McpServing {
  readonly input: Readable;
  readonly output: Writable;
  readonly project: McpProject;
  readonly bounds: McpBounds;
  readonly version: string;
  /** Ends it. */
  readonly signal: AbortSignal;
  /** What goes wrong beside the answers to calls. */
  onError(error: Error): void;
}

/** Serves one client; resolves when it has gone, or `signal` is aborted, and what calls left behind has ended. */
export async function serveMcp(serving: McpServing): Promise<void> {
  const { input, signal } = serving;
  const spent = createSpentHere(serving.bounds.totalUsd);
  const onError = (error: Error): void => serving.onError(error);
  const { server, end } = openMcpSession({ ...serving, owner: STREAMS, spent, onError });
  const gone = new Promise<void>((resolve) => {
    server.onclose = resolve;
    for (const event of ['end', 'close', 'error']) input.once(event, () => resolve());
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  await server.connect(createLineTransport(input, serving.output));
  if (!signal.aborted) await gone;
  await end();
}
