/** An independent MCP client: that of the SDK, over stdio with `caisson mcp`, or over HTTP with a daemon. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { CallToolResultSchema, type Progress } from '@modelcontextprotocol/sdk/types.js';
import { expect, onTestFinished } from 'vitest';
import { BIN, type Project } from './project.ts';

export interface McpClient {
  readonly client: Client;
  /** Milliseconds from the start of the program until it was initialized. */
  readonly startMs: number;
  /** What a tool answers; fails where it is an error. */
  call(
    tool: string,
    input?: Record<string, unknown>,
    onprogress?: (progress: Progress) => void,
  ): Promise<Answer>;
  /** The error that a tool answers with. */
  refusal(tool: string, input?: Record<string, unknown>): Promise<Answer>;
}

export type Answer = Readonly<Record<string, unknown>>;

export async function connectMcp(project: Project, ...options: string[]): Promise<McpClient> {
  await project.trust();
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [BIN, 'mcp', ...options],
    cwd: project.root,
    env: project.env,
    stderr: 'inherit',
  });
  return await connectOver(transport);
}

/** `url` of the daemon, as `caisson ui` prints it. */
export async function connectMcpHttp(url: string, token: string): Promise<McpClient> {
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  return await connectOver(new StreamableHTTPClientTransport(new URL('/mcp', url), { requestInit }));
}

async function connectOver(transport: Transport): Promise<McpClient> {
  const client = new Client({ name: 'a test', version: '1' });
  onTestFinished(() => client.close());
  const startedMs = performance.now();
  await client.connect(transport);
  const startMs = performance.now() - startedMs;
  const ask = async (
    isError: boolean,
    name: string,
    input: Record<string, unknown> = {},
    onprogress?: (progress: Progress) => void,
  ): Promise<Answer> => {
    const how = { timeout: 60_000, ...(onprogress === undefined ? {} : { onprogress }) };
    const result = CallToolResultSchema.parse(
      await client.callTool({ name, arguments: input }, CallToolResultSchema, how),
    );
    const [part] = result.content;
    const text = part?.type === 'text' ? part.text : '';
    expect(result.isError ?? false, text).toBe(isError);
    expect(JSON.parse(text)).toEqual(result.structuredContent);
    return result.structuredContent ?? {};
  };
  return {
    client,
    startMs,
    call: (tool, input, onprogress) => ask(false, tool, input, onprogress),
    refusal: async (tool, input) => (await ask(true, tool, input))['error'] as Answer,
  };
}
