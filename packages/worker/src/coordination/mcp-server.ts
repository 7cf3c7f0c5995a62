/**
 * The coordination tools as an MCP server on a socket. The SDK is large and slow to load, so this file is loaded only
 * when an agent really speaks MCP; of our code it may import only types.
 */
import type { Socket } from 'node:net';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  CallToolRequestSchema,
  JSONRPCMessageSchema,
  ListToolsRequestSchema,
  type CallToolResult,
} from '@modelcontextprotocol/sdk/types.js';
import type { CoordinationTool } from './coordination-tool.ts';

export interface McpConnection {
  /** One JSON value that arrived. */
  receive(message: unknown): void;
  closed(): void;
}

/** Serves one client. The caller decodes bytes, because it knows where a line may end. */
export async function serveMcp(
  socket: Pick<Socket, 'write' | 'end'>,
  tools: readonly CoordinationTool[],
): Promise<McpConnection> {
  const server = new Server({ name: 'caisson', version: '1' }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema })),
  }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }) =>
    callTool(tools, params.name, params.arguments),
  );
  const transport: Transport = {
    start: () => Promise.resolve(),
    send(message) {
      socket.write(`${JSON.stringify(message)}\n`);
      return Promise.resolve();
    },
    close() {
      socket.end();
      transport.onclose?.();
      return Promise.resolve();
    },
  };
  await server.connect(transport);
  return {
    receive(message) {
      const parsed = JSONRPCMessageSchema.safeParse(message);
      if (parsed.success) transport.onmessage?.(parsed.data);
      else transport.onerror?.(parsed.error);
    },
    closed: () => transport.onclose?.(),
  };
}

async function callTool(
  tools: readonly CoordinationTool[],
  name: string,
  input: unknown,
): Promise<CallToolResult> {
  const tool = tools.find((candidate) => candidate.name === name);
  if (tool === undefined) return failed(`there is no tool ${name} for this run`);
  try {
    return { content: [{ type: 'text', text: await tool.run(input) }] };
  } catch (error) {
    return failed(error instanceof Error ? error.message : String(error));
  }
}

function failed(text: string): CallToolResult {
  return { isError: true, content: [{ type: 'text', text }] };
}
