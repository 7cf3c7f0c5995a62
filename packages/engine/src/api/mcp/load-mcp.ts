import type { McpServing } from './mcp-face.ts';

export type { McpServing };

/** Serves one MCP client on two streams until it goes away. */
export async function serveMcp(serving: McpServing): Promise<void> {
  const face = await import('./mcp-face.ts');
  await face.serveMcp(serving);
}
