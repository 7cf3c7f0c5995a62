import type { McpSessions, McpSessionsParts } from './contract.ts';
import type { McpServing } from './mcp-face.ts';

export type { McpServing };

/** Serves one MCP client on two streams until it goes away. */
export async function serveMcp(serving: McpServing): Promise<void> {
  const face = await import('./mcp-face.ts');
  await face.serveMcp(serving);
}

/** The MCP servers of a host over HTTP. */
export async function loadMcpSessions(parts: McpSessionsParts): Promise<McpSessions> {
  const face = await import('./mcp-face.ts');
  return face.createMcpSessions(parts);
}
