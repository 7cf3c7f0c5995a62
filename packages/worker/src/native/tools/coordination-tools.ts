import type { AgentTool } from '@earendil-works/pi-agent-core';
import type { McpClient } from '../mcp-client.ts';
import { textResult } from './native-tool.ts';

/** Named as every other runtime names them, so that policy knows them as ours. */
const PREFIX = 'mcp__caisson__';

/** The tools of the worker's coordination server, one for one. */
export async function coordinationTools(client: McpClient): Promise<AgentTool[]> {
  const tools = await client.listTools();
  return tools.map((tool) => ({
    name: `${PREFIX}${tool.name}`,
    label: tool.name,
    description: tool.description,
    parameters: tool.inputSchema as AgentTool['parameters'],
    execute: async (_id, input) => textResult(await client.callTool(tool.name, input)),
  }));
}
